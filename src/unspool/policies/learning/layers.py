"""Dense layers, asked in a compiled loop: one job gets the same bits alone and among others, whatever trained them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array

__all__ = ["Layers", "scaled"]

_SCALE = 0.25  # logarithms of seconds and of counts are below about 10


@compiled
def _pass_through(inputs: Array, sizes: Array, weights: Array, biases: Array, held: Array, told: Array) -> None:
    """Each row through all layers, with ReLU between them; `held` [2, widest layer] is room to work in."""
    last = len(sizes) - 2
    for at in range(len(inputs)):
        for source in range(sizes[0]):
            held[0, source] = inputs[at, source]
        now = first_weight = first_bias = 0
        for layer in range(last + 1):
            many, out = sizes[layer], sizes[layer + 1]
            then = 1 - now
            for target in range(out):
                held[then, target] = biases[first_bias + target]
            for source in range(many):
                value = held[now, source]
                if value != 0.0:
                    begin = first_weight + source * out
                    # Added source by source: sums keep their order, and the inner loop is one of vectors.
                    for target in range(out):
                        held[then, target] += value * weights[begin + target]
            if layer < last:
                for target in range(out):
                    held[then, target] = max(held[then, target], 0.0)
            now = then
            first_weight += many * out
            first_bias += out
        for target in range(sizes[last + 1]):
            told[at, target] = held[now, target]


def scaled(rows: Array) -> Array:
    """Rows of features as layers take them: small numbers, 0 for what is unknown (its count is 0 too)."""
    # nan_to_num says the same and takes three times as long, which counts where jobs are asked one by one.
    return np.where(np.isnan(rows), 0.0, rows) * _SCALE


class Layers(NamedTuple):
    """Weights of layers one after the other, each [input, output], and tables of embeddings that join the inputs."""

    sizes: Array
    weights: Array
    biases: Array
    tables: tuple[Array, ...] = ()

    @classmethod
    def of(cls, matrices: list[Array], biases: list[Array], tables: tuple[Array, ...] = ()) -> Layers:
        """From a matrix [input, output] and a bias for each layer."""
        sizes = [matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)]
        flat = [np.ascontiguousarray(matrix, np.float64).ravel() for matrix in matrices]
        return cls(
            np.array(sizes, np.int64), np.concatenate(flat), np.concatenate(biases).astype(np.float64), tables
        )  # fmt: skip

    def outputs(self, inputs: Array) -> Array:
        """What the last layer says of each row of inputs."""
        told = np.empty((len(inputs), int(self.sizes[-1])))
        held = np.empty((2, int(self.sizes.max())))
        _pass_through(np.ascontiguousarray(inputs), self.sizes, self.weights, self.biases, held, told)
        return told

    def predict(self, rows: Array, codes: Array) -> Array:
        """log(1 + seconds) for rows of features, whose last number is the base that the layers correct."""
        inputs = scaled(rows)
        if self.tables:
            known = [
                table[np.where(codes[:, at] < len(table), codes[:, at], 0)] for at, table in enumerate(self.tables)
            ]
            inputs = np.concatenate([inputs, *known], axis=1)
        told: Array = rows[:, -1] + self.outputs(inputs)[:, 0]
        return told
