"""Train an agent that chooses the next job: python train.py --seed 1 -o model-1.zip (a few minutes on one core)."""

import argparse
import time

import torch
from sb3_contrib import MaskablePPO
from setting import WINDOW, to_learn_from
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from unspool.rl import JobPolicy, JobVecEnv


class Told(BaseCallback):
    """A line for each rollout: how far it is, and what the episodes that ended came to."""

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        ended = [-episode["r"] for episode in self.model.ep_info_buffer]
        mean = sum(ended) / len(ended) if ended else float("nan")
        print(f"{self.num_timesteps:>9,} decisions, mean slowdown of the last weeks {1 + mean:,.1f}", flush=True)


def main():
    given = argparse.ArgumentParser()
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--decisions", type=int, default=500_000)
    given.add_argument("-o", "--out", default="model.zip")
    asked = given.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    # Slowdowns are bounded at a minute: at ten seconds a few tiny jobs drown all else. The table is bounded at ten.
    reward = {"bounded_slowdown": 1.0, "bound_s": 60.0}
    env = JobVecEnv(64, to_learn_from(), window=WINDOW, reward=reward, seed=1000 * asked.seed)
    model = MaskablePPO(
        JobPolicy, VecNormalize(env, norm_obs=False, gamma=0.99), seed=asked.seed, n_steps=128, batch_size=2048,
        n_epochs=4, gamma=0.99, gae_lambda=0.95, learning_rate=1e-3, ent_coef=0.003, device="cpu",
        policy_kwargs={"width": 32},
    )  # fmt: skip
    model.learn(asked.decisions, callback=Told())
    model.save(asked.out)
    print(f"{asked.out}: trained in {(time.perf_counter() - began) / 60:.1f} min")


if __name__ == "__main__":
    main()
