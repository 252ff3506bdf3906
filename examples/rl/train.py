"""Train an agent that chooses the next job: python train.py --seed 1 -o model-1.zip (a few minutes on one core)."""

import argparse
import time

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from setting import WINDOW, to_check_on, to_learn_from
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from unspool.rl import Episodes, JobPolicy, JobVecEnv, Reward


class KeepBest(BaseCallback):
    """After every other rollout, run the agent as a policy on the weeks for it, and save the best so far."""

    def __init__(self, out):
        super().__init__()
        windows = to_check_on()
        self.weeks = windows.in_turn()
        self.episodes = Episodes(windows, len(self.weeks), window=WINDOW, reward=Reward.parse("bounded_slowdown"))
        self.out, self.best, self.rollouts = out, float("inf"), 0

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        self.rollouts += 1
        if self.rollouts % 2 == 0:
            self.check()

    def _on_training_end(self):
        self.check()

    def check(self):
        slowdown = self.slowdown()
        if slowdown < self.best:
            self.best = slowdown
            self.model.save(self.out)
        print(f"{self.num_timesteps:>9,} decisions, slowdown {slowdown:,.1f}, best {self.best:,.1f}", flush=True)

    def slowdown(self):
        """The geometric mean over weeks of the mean bounded slowdown, so that no one week decides."""
        episodes = self.episodes
        episodes.begin(np.arange(episodes.runs), self.weeks)
        is_over = np.zeros(episodes.runs, bool)
        while not is_over.all():
            actions, _ = self.model.predict(episodes.seen, action_masks=episodes.mask, deterministic=True)
            _, ended, _ = episodes.step(actions)  # a week that is over waits, which changes nothing
            is_over |= ended
        slowdowns = [1.0 + episodes.figures(week)["bounded_slowdown"] for week in range(episodes.runs)]
        return float(np.exp(np.log(slowdowns).mean()))


def main():
    given = argparse.ArgumentParser()
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--decisions", type=int, default=500_000)
    given.add_argument("-o", "--out", default="model.zip")
    asked = given.parse_args()
    torch.set_num_threads(1)
    # The logarithm: of slowdowns themselves, a few tiny jobs that waited drown all else.
    env = JobVecEnv(64, to_learn_from(), window=WINDOW, reward="log_slowdown", seed=1000 * asked.seed)
    model = MaskablePPO(
        JobPolicy, VecNormalize(env, norm_obs=False, gamma=0.98), seed=asked.seed, n_steps=128, batch_size=512,
        n_epochs=4, gamma=0.98, gae_lambda=0.9, learning_rate=lambda left: 2e-3 * left, ent_coef=0.001, device="cpu",
        policy_kwargs={"width": 32, "wait_score": -4.0},
    )  # fmt: skip
    kept = KeepBest(asked.out)
    model.learn(asked.decisions, callback=kept)
    print(f"{asked.out}: slowdown {kept.best:,.1f}, trained in {time.process_time() / 60:.1f} min of processor time")


if __name__ == "__main__":
    main()
