"""Worker selectors that learn with PyTorch: a contextual bandit and a deep Q-network (spec dispatch B4.5, W11).

Both have one small network that is asked of each worker in turn, so that it learns from all of them and serves any
number. It corrects a *base* cost, the predicted wait there, and begins with no correction: at first a selector takes
the worker with the least predicted work. Inactive workers and those whose limit is below the estimate are masked.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unspool.arrays import Array
from unspool.confinement.roots import readable
from unspool.errors import InputError
from unspool.faces.dispatch.dispatchers import active_workers, admitting
from unspool.faces.dispatch.draws import EXPLORING, uniform
from unspool.faces.dispatch.simdex import Job
from unspool.policies.learning.extras import needed
from unspool.policies.learning.layers import Layers
from unspool.policies.learning.learner import Times
from unspool.policies.learning.network import dense, forward, loaded, one_thread, packed, served_layers
from unspool.storage import replacing

__all__ = ["ContextualBandit", "DeepQ"]

_FORMAT = "unspool agent 1"
_WIDTH = 10  # numbers of a worker and a job
_SCALE = 0.25  # logarithms of seconds are below about 10
_MOST_COST = 12.0  # a wait of 45 hours


class _Work:
    """The predicted work that is left at each worker, and what else a state tells of it."""

    def __init__(self) -> None:
        self._left: dict[int, float] = {}
        self._chosen: dict[int, tuple[int, float]] = {}
        self._mean = self._count = 0.0

    def estimate(self, job: Job) -> float:
        """The prediction, or without one the mean of those that ended."""
        return job.estimated_duration or self._mean

    def add(self, job: Job, worker: int) -> None:
        """A job joins the queue of a worker."""
        estimate = self.estimate(job)
        self._left[worker] = self._left.get(worker, 0.0) + estimate
        self._chosen[job.row] = worker, estimate

    def remove(self, simulation: Any, job: Job) -> None:
        """A job ended; of an empty worker nothing is left over by rounding."""
        worker, estimate = self._chosen.pop(job.row)
        self._left[worker] = self._left[worker] - estimate if simulation.workers[worker].jobs else 0.0
        self._count += 1.0
        self._mean += (job.duration - self._mean) / self._count

    def state(self, simulation: Any, job: Job) -> tuple[Array, Array, Array]:
        """For each worker ten scaled numbers, the seconds until it is predicted to be free, and whether it may be."""
        workers, now = simulation.workers, simulation.ts
        able = {worker.index for worker in admitting(active_workers(workers), job.estimated_duration)}
        asked = math.log1p(self.estimate(job))
        rows, left = [], []
        for worker in workers:
            elapsed = guess = 0.0
            if worker.jobs:
                head = worker.jobs[0]
                elapsed, guess = max(now - head.start_ts, 0.0), self._chosen[head.row][1]
                wait = max(self._left[worker.index] - min(elapsed, guess), 0.0)
            else:
                wait = max(getattr(worker, "ready_ts", 0.0) - now, 0.0)
            left.append(wait)
            limit = worker.attributes.get("limit")
            rows.append([
                math.log1p(len(worker.jobs)), math.log1p(wait), math.log1p(elapsed), math.log1p(guess),
                math.log1p(max(elapsed - guess, 0.0)), asked, 0.0 if limit is None else math.log1p(max(limit, 0.0)),
            ])  # fmt: skip
        mean, least = math.log1p(sum(left) / len(left)), math.log1p(min(left[at] for at in able))
        idle = 4.0 * sum(not worker.jobs for worker in workers) / len(workers)
        state = [[*row, row[1] - least, mean, idle] for row in rows]
        mask = np.array([worker.index in able for worker in workers])
        return np.array(state) * _SCALE, np.array(left), mask


class _Agent:
    """What both share: a state, an ε-greedy choice, a memory, one step of the optimiser now and then, a file."""

    def __init__(
        self, layer_widths: Sequence[int], epsilon_initial: float, epsilon_final: float, epsilon_final_after_jobs: int,
        batch_size: int, replay_buffer_size: int, training_interval: int, gamma: float, tau: float,
        learning_rate: float, margin: float, learn: bool, save: str | None, load: str | None,
    ) -> None:  # fmt: skip
        needed("torch", "this selector")
        shares = {"epsilon_initial": epsilon_initial, "epsilon_final": epsilon_final, "gamma": gamma, "tau": tau}
        for name, share in shares.items():
            if not 0.0 <= share <= 1.0:
                raise InputError(f"{name} is {share}; expected 0 to 1")
        counts = {
            "batch_size": batch_size, "replay_buffer_size": replay_buffer_size, "training_interval": training_interval,
            "epsilon_final_after_jobs": epsilon_final_after_jobs,
        }  # fmt: skip
        for name, count in counts.items():
            if not isinstance(count, int) or count < 1:
                raise InputError(f"{name} is {count}; expected a number of 1 or more")
        if isinstance(layer_widths, int | str) or not all(isinstance(each, int) and each > 0 for each in layer_widths):
            raise InputError(f"layer_widths is {layer_widths!r}; expected a list of numbers, such as [32]")
        self.layer_widths = tuple(layer_widths)
        self.epsilon = epsilon_initial, epsilon_final, epsilon_final_after_jobs
        self.batch_size, self.training_interval = batch_size, training_interval
        self.gamma, self.tau, self.learning_rate, self.margin = gamma, tau, learning_rate, margin
        self.learn, self._save, self._load = learn, save, load
        self.system_monitor = self
        self._memory: deque[tuple[Array, float, float, Any]] = deque(maxlen=replay_buffer_size)
        self._begin(0)

    def _begin(self, seed: int) -> None:
        torch = self._torch
        sizes = [_WIDTH, *self.layer_widths, 1]
        with one_thread(torch):
            self._layers = dense(torch, sizes, torch.Generator().manual_seed(seed))
            self._target = [each.detach().clone() for each in self._layers]
            self._optimiser = torch.optim.Adam(self._layers, lr=self.learning_rate)
        self._served: Layers = served_layers(self._layers)
        self._served.outputs(np.zeros((1, _WIDTH)))  # compiled now, not in the time of a question
        self._drawn = np.random.default_rng([seed, 3])
        self._work = _Work()
        self._memory.clear()
        self._open: dict[int, list[Any]] = {}  # row of a job: state, base, cost, what came next
        self._last: int | None = None
        self._jobs = self._stored = 0
        self._times = Times()

    @property
    def _torch(self) -> Any:
        return needed("torch", "this selector")

    def init(self, simulation: Any) -> None:
        """Begin with the seed of the run, and with what was saved."""
        self._begin(simulation.seed)
        if self._load is not None:
            self._restore(Path(self._load))

    def select_worker(self, simulation: Any, job: Job) -> int:
        """The number of a worker."""
        began = time.perf_counter_ns()
        states, left, mask = self._work.state(simulation, job)
        bases = np.minimum(self._cost(left), _MOST_COST)
        costs = np.where(mask, bases + self._served.outputs(states)[:, 0], math.inf)
        base = int(np.argmin(np.where(mask, bases, math.inf)))
        best = int(np.argmin(costs))
        if costs[best] >= costs[base] - self.margin:
            best = base
        if self.learn:
            best = self._explored(simulation, job, costs, best)
        self._jobs += 1
        self._work.add(job, best)
        self._times.inferences += 1
        self._times.inference_ns += time.perf_counter_ns() - began
        if self.learn:
            self._follow(states, bases, mask)
            self._open[job.row] = [states[best], float(bases[best]), None, None]
            self._last = job.row
        return best

    def _cost(self, wait: Array) -> Array:
        return np.log1p(wait)

    def _explored(self, simulation: Any, job: Job, costs: Array, best: int) -> int:
        """With probability ε the next best worker: one at random would mostly teach what is known to be bad."""
        first, last, jobs = self.epsilon
        epsilon = max(last, first + (last - first) * self._jobs / jobs) if first >= last else last
        if uniform(simulation.seed, EXPLORING, job.row) >= epsilon:
            return best
        others = [at for at in np.argsort(costs, kind="stable").tolist() if at != best and math.isfinite(costs[at])]
        return others[0] if others else best

    def _follow(self, states: Array, bases: Array, mask: Array) -> None:
        """What the job before this one led to is the state at this arrival."""
        if self._last is not None and (last := self._open.get(self._last)) is not None:
            last[3] = (states[mask], bases[mask])
            self._store(self._last)

    def job_finished(self, simulation: Any, job: Job) -> None:
        """Learn what the choice for it cost: its wait."""
        self._work.remove(simulation, job)
        kept = self._open.get(job.row)
        if kept is not None:
            wait = max(job.start_ts - job.spawn_ts, 0.0)
            kept[2] = min(float(self._cost(np.array(wait))), _MOST_COST)
            self._store(job.row)

    def _store(self, row: int) -> None:
        state, base, cost, following = self._open[row]
        if cost is None or following is None:
            return
        del self._open[row]
        self._memory.append((state, base, cost, following))
        self._stored += 1
        if self._stored % self.training_interval == 0 and len(self._memory) >= self.batch_size:
            began = time.perf_counter_ns()
            with one_thread(self._torch):
                self._train()
            self._served = served_layers(self._layers)
            self._times.trainings += 1
            self._times.training_ns += time.perf_counter_ns() - began

    def _train(self) -> None:
        """One step towards cost + gamma * what is best next: chosen by the network, valued by the target's."""
        torch = self._torch
        chosen = [self._memory[at] for at in self._drawn.integers(0, len(self._memory), self.batch_size).tolist()]
        states = torch.from_numpy(np.array([each[0] for each in chosen])).float()
        bases = torch.tensor([each[1] for each in chosen])
        wanted = torch.tensor([each[2] for each in chosen])
        if self.gamma > 0.0:
            wanted = wanted + self.gamma * self._next_values([each[3] for each in chosen])
        told = bases + forward(torch, self._layers, states)[:, 0]
        self._optimiser.zero_grad()
        torch.nn.functional.smooth_l1_loss(told, wanted).backward()
        self._optimiser.step()
        with torch.no_grad():
            for mine, theirs in zip(self._layers, self._target, strict=True):
                theirs.lerp_(mine, self.tau)

    def _next_values(self, following: list[Any]) -> Any:
        torch = self._torch
        most = max(len(bases) for _, bases in following)
        states = np.zeros((len(following), most, _WIDTH), np.float32)
        bases = np.full((len(following), most), np.inf, np.float32)
        for at, (state, base) in enumerate(following):
            states[at, : len(base)], bases[at, : len(base)] = state, base
        with torch.no_grad():
            inputs, base_costs = torch.from_numpy(states), torch.from_numpy(bases)
            best = (base_costs + forward(torch, self._layers, inputs)[:, :, 0]).argmin(1, keepdim=True)
            return (base_costs + forward(torch, self._target, inputs)[:, :, 0]).gather(1, best)[:, 0]

    def end(self, simulation: Any) -> None:
        """Keep what was learnt, where a file is named."""
        if self._save is not None:
            self.save(self._save)

    def save(self, path: str | Path) -> None:
        """Write the weights, the target's and what the optimiser remembers into a file; the memory is left out."""
        kept = {
            "layers": [each.detach() for each in self._layers], "target": self._target,
            "optimiser": self._optimiser.state_dict(),
        }  # fmt: skip
        told = {"format": _FORMAT, "agent": type(self).__name__, "widths": self.layer_widths, "jobs": self._jobs}
        with replacing(path) as file:
            np.savez_compressed(
                file, told=np.frombuffer(json.dumps(told).encode(), np.uint8), torch=packed(self._torch, kept)
            )

    def _restore(self, path: Path) -> None:
        torch = self._torch
        try:
            with np.load(readable(path), allow_pickle=False) as file:
                told, kept = json.loads(file["told"].tobytes()), loaded(torch, file["torch"])
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file; expected one that save wrote") from None
        except Exception as error:  # whatever the parser stumbles over
            raise InputError(f"{path}: not a file that save wrote ({error})") from error
        expected = (_FORMAT, type(self).__name__, list(self.layer_widths))
        if (found := (told.get("format"), told.get("agent"), told.get("widths"))) != expected:
            raise InputError(f"{path}: holds {found[1]} with layers {found[2]}; expected {expected[1]}, {expected[2]}")
        self._layers = [each.clone().requires_grad_() for each in kept["layers"]]
        self._target = [each.clone() for each in kept["target"]]
        self._optimiser = torch.optim.Adam(self._layers, lr=self.learning_rate)
        self._optimiser.load_state_dict(kept["optimiser"])
        self._served, self._jobs = served_layers(self._layers), told["jobs"]

    def spent(self) -> dict[str, float]:
        """Real time for questions and trainings."""
        return self._times.values()


class ContextualBandit(_Agent):
    """Learns how long a job would wait at each worker, from its queue and from how long its first job runs already."""

    def __init__(
        self,
        layer_widths: Sequence[int] = (32,),
        epsilon_initial: float = 0.05,
        epsilon_final: float = 0.001,
        epsilon_final_after_jobs: int = 2000,
        batch_size: int = 64,
        replay_buffer_size: int = 20_000,
        training_interval: int = 10,
        learning_rate: float = 0.001,
        margin: float = 0.0,
        learn: bool = True,
        save: str | None = None,
        load: str | None = None,
    ) -> None:
        super().__init__(
            layer_widths, epsilon_initial, epsilon_final, epsilon_final_after_jobs, batch_size, replay_buffer_size,
            training_interval, 0.0, 1.0, learning_rate, margin, learn, save, load,
        )  # fmt: skip


class DeepQ(_Agent):
    """Learns what a choice costs this job and, discounted by `gamma`, those after it.

    H. van Hasselt, A. Guez, D. Silver: "Deep reinforcement learning with double Q-learning", AAAI 2016. The target
    follows by `tau` at every step of the optimiser. The arguments up to `learning_rate` are those of Simdex's selector.
    """

    def __init__(
        self,
        epsilon_initial: float = 0.05,
        epsilon_final: float = 0.001,
        epsilon_final_after_jobs: int = 2000,
        batch_size: int = 64,
        replay_buffer_size: int = 20_000,
        training_interval: int = 10,
        layer_widths: Sequence[int] = (32,),
        gamma: float = 0.5,
        tau: float = 0.01,
        learning_rate: float = 0.001,
        margin: float = 0.0,
        learn: bool = True,
        save: str | None = None,
        load: str | None = None,
    ) -> None:
        super().__init__(
            layer_widths, epsilon_initial, epsilon_final, epsilon_final_after_jobs, batch_size, replay_buffer_size,
            training_interval, gamma, tau, learning_rate, margin, learn, save, load,
        )  # fmt: skip
