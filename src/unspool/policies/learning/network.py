"""A network that PyTorch trains, with its weights kept from one training to the next.

It corrects the base, the mean of jobs like it, and begins with no correction: the last layer starts at zero. One
thread and own generators, so that one seed gives the same bits.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from unspool.engine.kernel.state import Array
from unspool.errors import InputError
from unspool.policies.learning.extras import needed
from unspool.policies.learning.layers import Layers, scaled

__all__ = ["Network", "dense", "forward", "loaded", "one_thread", "packed", "served_layers"]

_STEP = 64  # samples of one step of the optimiser
_FIRST_ROWS = 64  # of a table of embeddings, which doubles when there are more ids


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Sums of several threads come in another order from run to run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def dense(torch: Any, sizes: Sequence[int], generator: Any) -> list[Any]:
    """Weights [input, output] and bias of each layer in turn; those of the last layer are zero."""
    layers = []
    for many, out in pairwise(sizes):
        weights = torch.randn(many, out, generator=generator) * (2.0 / many) ** 0.5
        layers += [weights.requires_grad_(), torch.zeros(out, requires_grad=True)]
    with torch.no_grad():
        layers[-2].zero_()
    return layers


def forward(torch: Any, layers: Sequence[Any], inputs: Any) -> Any:
    """Inputs through all layers, with ReLU between them."""
    for at in range(0, len(layers), 2):
        inputs = inputs @ layers[at] + layers[at + 1]
        if at < len(layers) - 2:
            inputs = torch.relu(inputs)
    return inputs


def served_layers(layers: Sequence[Any], tables: Sequence[Any] = ()) -> Layers:
    """A copy of the weights for the compiled loop."""
    arrays = [each.detach().numpy().astype(np.float64) for each in layers]
    kept = tuple(table.detach().numpy().astype(np.float64) for table in tables)
    return Layers.of(arrays[0::2], arrays[1::2], kept)


def packed(torch: Any, content: Any) -> Array:
    """Tensors and plain values as bytes, for a file of arrays."""
    kept = io.BytesIO()
    torch.save(content, kept)
    return np.frombuffer(kept.getvalue(), np.uint8)


def loaded(torch: Any, kept: Array) -> Any:
    """What `packed` took; nothing in it is ever run."""
    return torch.load(io.BytesIO(kept.tobytes()), weights_only=True)


class Network:
    """Dense layers over features and, where `dim` is given, over embeddings of the keys in `coded`.

    Each training takes the newest `batch` samples and `replay` times as many drawn from those before, `epochs` times.
    """

    is_online = False

    def __init__(
        self,
        widths: Sequence[int] = (64,),
        epochs: int = 5,
        batch: int = 1000,
        replay: float = 2.0,
        learning_rate: float = 0.003,
        coded: Sequence[int] = (),
        dim: int = 16,
        seed: int = 0,
    ) -> None:
        numbers = (*widths, epochs, batch, dim)
        if not all(isinstance(each, int) and each >= 1 for each in numbers) or replay < 0 or not learning_rate > 0:
            raise InputError(
                f"network: layers {list(widths)}, epochs {epochs}, batch {batch}, dim {dim}, replay {replay}, "
                f"learning_rate {learning_rate}; expected whole numbers of 1 or more, and a rate above 0"
            )
        needed("torch", "a network")
        self.widths, self.epochs, self.batch, self.replay = tuple(widths), epochs, batch, replay
        self.learning_rate, self.coded, self.dim, self.seed = learning_rate, tuple(coded), dim, seed
        self._layers: list[Any] = []
        self._tables: list[Any] = []
        self._optimiser: Any = None
        self._drawn = np.random.default_rng([seed, 1])
        self._pairs: Array | None = None

    @property
    def _torch(self) -> Any:
        return needed("torch", "a network")  # a module cannot be an attribute of what is copied

    def pretrain(self, pairs: Array, epochs: int = 20) -> None:
        """Before the first training let the table of the first coded key learn from pairs (its code, another code)."""
        self._pairs = pairs
        self._pair_epochs = epochs

    def fit(self, rows: Array, codes: Array, targets: Array) -> None:
        """Go on training with samples, oldest first."""
        torch = self._torch
        with one_thread(torch):
            self._make(rows.shape[1], codes)
            inputs = torch.from_numpy(scaled(rows)).float()
            coded = torch.from_numpy(codes)
            wanted = torch.from_numpy(targets - rows[:, -1]).float()
            newest = np.arange(max(len(rows) - self.batch, 0), len(rows))
            for _ in range(self.epochs):
                older = self._drawn.integers(
                    0, max(int(newest[0]), 1), int(self.replay * len(newest)) * (newest[0] > 0)
                )
                order = self._drawn.permutation(np.concatenate([newest, older]))
                for begin in range(0, len(order), _STEP):
                    self._step(inputs, coded, wanted, torch.from_numpy(order[begin : begin + _STEP]))

    def _step(self, inputs: Any, coded: Any, wanted: Any, chosen: Any) -> None:
        torch = self._torch
        parts = [inputs[chosen]]
        for at, table in enumerate(self._tables):
            code = coded[chosen, at]
            parts.append(table[torch.where(code < len(table), code, 0)])
        told = forward(torch, self._layers, torch.cat(parts, 1))[:, 0]
        loss = torch.nn.functional.smooth_l1_loss(told, wanted[chosen], beta=0.1)
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()

    def _make(self, width: int, codes: Array) -> None:
        """The weights, where there are none; larger tables, where there are more ids than rows."""
        torch = self._torch
        counts = [int(codes[:, at].max(initial=0)) + 1 for at in range(codes.shape[1])]
        if not self._layers:
            generator = torch.Generator().manual_seed(self.seed)
            sizes = [width + self.dim * len(self.coded), *self.widths, 1]
            self._layers = dense(torch, sizes, generator)
            self._tables = [self._table(at, _FIRST_ROWS) for at in range(len(self.coded))]
            if self._pairs is not None and self._tables:
                self._learn_pairs(generator)
            self._optimiser = torch.optim.Adam([*self._layers, *self._tables], lr=self.learning_rate)
        for at, count in enumerate(counts):
            if count > len(self._tables[at]):
                self._grow(at, count)

    def _table(self, at: int, rows: int) -> Any:
        # A row is drawn from the seed and its place, so that a table that grew is the one that was large at once.
        drawn = [np.random.default_rng([self.seed, 2, at, row]).normal(0.0, 0.1, self.dim) for row in range(rows)]
        table = self._torch.from_numpy(np.array(drawn)).float()
        table[0] = 0.0  # that of all ids that were never learnt
        return table.requires_grad_()

    def _grow(self, at: int, count: int) -> None:
        torch, old = self._torch, self._tables[at]
        new = self._table(at, max(2 * len(old), count))
        with torch.no_grad():
            new[: len(old)] = old
        kept = self._optimiser.state.pop(old, None)
        if kept is not None:
            for name in ("exp_avg", "exp_avg_sq"):
                grown = torch.zeros_like(new)
                grown[: len(old)] = kept[name]
                kept[name] = grown
            self._optimiser.state[new] = kept
        self._tables[at] = new
        group = self._optimiser.param_groups[0]
        group["params"] = [new if each is old else each for each in group["params"]]

    def _learn_pairs(self, generator: Any) -> None:
        assert self._pairs is not None
        torch, pairs = self._torch, torch_pairs(self._torch, self._pairs)
        if int(pairs[:, 0].max()) >= len(self._tables[0]):
            self._tables[0] = self._table(0, int(pairs[:, 0].max()) + 1)
        heads = dense(torch, [self.dim, int(pairs[:, 1].max()) + 1], generator)
        optimiser = torch.optim.Adam([self._tables[0], *heads], lr=0.01)
        for _ in range(self._pair_epochs):
            told = forward(torch, heads, self._tables[0][pairs[:, 0]])
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(told, pairs[:, 1]).backward()
            optimiser.step()

    def served(self) -> Layers | None:
        """A copy of the weights as they are now."""
        return served_layers(self._layers, self._tables) if self._layers else None

    def state(self) -> dict[str, Any]:
        """Arrays to keep in a file: weights, what the optimiser remembers, and the draws."""
        if not self._layers:
            return {}
        kept = {
            "layers": [each.detach() for each in self._layers],
            "tables": [each.detach() for each in self._tables],
            "optimiser": self._optimiser.state_dict(),
        }
        return {"torch": packed(self._torch, kept), "draws": _draws_kept(self._drawn)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the arrays of `state()`."""
        if "torch" not in state:
            return
        kept = loaded(self._torch, state["torch"])
        self._layers = [each.clone().requires_grad_() for each in kept["layers"]]
        self._tables = [each.clone().requires_grad_() for each in kept["tables"]]
        self._optimiser = self._torch.optim.Adam([*self._layers, *self._tables], lr=self.learning_rate)
        self._optimiser.load_state_dict(kept["optimiser"])
        self._drawn.bit_generator.state = _draws_of(state["draws"])


def torch_pairs(torch: Any, pairs: Array) -> Any:
    """Pairs of codes as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(pairs, np.int64))


def _draws_kept(drawn: np.random.Generator) -> Array:
    inner = drawn.bit_generator.state
    words = [inner["state"]["state"], inner["state"]["inc"]]
    parts = [word >> shift & (2**64 - 1) for word in words for shift in (0, 64)]
    return np.array([*parts, inner["has_uint32"], inner["uinteger"]], np.uint64)


def _draws_of(kept: Array) -> dict[str, Any]:
    parts = [int(each) for each in kept]
    state = {"state": parts[0] | parts[1] << 64, "inc": parts[2] | parts[3] << 64}
    return {"bit_generator": "PCG64", "state": state, "has_uint32": parts[4], "uinteger": parts[5]}
