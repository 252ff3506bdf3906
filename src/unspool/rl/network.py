"""A network that looks at each job of the window alike, for MaskablePPO: what is learnt of one place holds for all.

The same small network scores every job from its own numbers and those of the machine, and one more scores waiting;
so the number of weights does not grow with the window. (D. Zhang and others: "RLScheduler: an automated HPC batch job
scheduler using reinforcement learning", SC20, has the idea.)
"""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from unspool.simulation.choosing import GLOBALS, PER_JOB

__all__ = ["JobPolicy"]


class _Scores(nn.Module):  # type: ignore[misc]
    """Scores of all actions, and what the value is made of."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.window = (length - GLOBALS) // PER_JOB
        self.job = nn.Sequential(nn.Linear(GLOBALS + PER_JOB, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Linear(width, 1)
        self.wait = nn.Sequential(nn.Linear(GLOBALS + width, width), nn.ReLU(), nn.Linear(width, 1))
        self.worth = nn.Sequential(nn.Linear(GLOBALS + 2 * width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.latent_dim_pi = self.window + 1
        self.latent_dim_vf = width

    def _split(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        whole = seen[:, :GLOBALS]
        jobs = seen[:, GLOBALS:].reshape(-1, self.window, PER_JOB)
        each = torch.cat([jobs, whole.unsqueeze(1).expand(-1, self.window, -1)], dim=2)
        is_there = jobs[:, :, :1]
        return whole, self.job(each) * is_there, is_there

    def forward_actor(self, seen: torch.Tensor) -> torch.Tensor:
        """The score of each action."""
        return self._actor(*self._split(seen))

    def forward_critic(self, seen: torch.Tensor) -> torch.Tensor:
        """What the value is made of."""
        return self._critic(*self._split(seen))

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both."""
        parts = self._split(seen)
        return self._actor(*parts), self._critic(*parts)

    def _actor(self, whole: torch.Tensor, each: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
        best = each.amax(dim=1)
        return torch.cat([self.score(each).squeeze(2), self.wait(torch.cat([whole, best], dim=1))], dim=1)

    def _critic(self, whole: torch.Tensor, each: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
        mean = each.sum(dim=1) / is_there.sum(dim=1).clamp(min=1.0)
        return self.worth(torch.cat([whole, mean, each.amax(dim=1)], dim=1))


class JobPolicy(MaskableActorCriticPolicy):  # type: ignore[misc]
    """`MaskablePPO(JobPolicy, env, policy_kwargs={"width": 32})`.

    As a policy (`deterministic=True`) it waits only if that is likelier than all starts together, and else starts the
    likeliest job. The likeliest single action would be to wait as soon as several jobs share the chance of a start,
    and a policy that is asked again and again would let the machine stand idle. `wait_score` is how waiting scores
    before anything is learnt, beside about 0 for a job.
    """

    def __init__(self, *arguments: Any, width: int = 32, wait_score: float = -4.0, **named: Any) -> None:
        self.width, self.wait_score = width, wait_score
        super().__init__(*arguments, **named)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _Scores(self.features_dim, self.width).to(self.device)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the scores are the logits
        nn.init.constant_(self.mlp_extractor.wait[-1].bias, self.wait_score)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _predict(
        self, observation: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> torch.Tensor:
        distribution = self.get_distribution(observation, action_masks)
        if not deterministic:
            return distribution.get_actions(deterministic=False)
        chances = distribution.distribution.probs
        window = chances.shape[1] - 1
        return torch.where(chances[:, window] > 0.5, window, chances[:, :window].argmax(dim=1))

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "width": self.width, "wait_score": self.wait_score}
