"""A linear model that learns from one job at a time: of the absolute error, or of any quantile.

J. Duchi, E. Hazan, Y. Singer: "Adaptive subgradient methods for online learning and stochastic optimization", Journal
of Machine Learning Research 12, 2011 (the steps). R. Koenker, G. Bassett: "Regression quantiles", Econometrica 46(1),
1978 (the loss, whose minimum is a quantile).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from unspool.engine.kernel.state import Array
from unspool.errors import InputError
from unspool.policies.learning.layers import Layers, scaled

__all__ = ["Linear"]


class Linear:
    """Weights of the features, over the base; `quantile` 0.5 is the median, which the least absolute error has."""

    coded: ClassVar[tuple[int, ...]] = ()
    is_online = True

    def __init__(self, quantile: float = 0.5, learning_rate: float = 0.05) -> None:
        if not 0.0 < quantile < 1.0:
            raise InputError(f"quantile is {quantile}; expected a number between 0 and 1")
        if not learning_rate > 0.0:
            raise InputError(f"learning_rate is {learning_rate}; expected more than 0")
        self.quantile, self.learning_rate = quantile, learning_rate
        self._weights: Array | None = None
        self._squares: Array = np.zeros(0)

    def fit(self, rows: Array, codes: Array, targets: Array) -> None:
        """Learn from samples, one after the other."""
        if self._weights is None:
            self._weights = np.zeros(rows.shape[1] + 1)
            self._squares = np.full(rows.shape[1] + 1, 1e-8)
        for inputs, target in zip(scaled(rows), targets - rows[:, -1], strict=True):
            terms = np.append(inputs, 1.0)
            told = float(terms @ self._weights)
            slope = -self.quantile if told < target else 1.0 - self.quantile
            steps = slope * terms
            self._squares += steps * steps
            self._weights -= self.learning_rate * steps / np.sqrt(self._squares)

    def served(self) -> Layers | None:
        """The weights as they are now."""
        if self._weights is None:
            return None
        return Layers.of([self._weights[:-1, None].copy()], [self._weights[-1:].copy()])

    def state(self) -> dict[str, Any]:
        """Arrays to keep in a file."""
        return {} if self._weights is None else {"weights": self._weights, "squares": self._squares}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the arrays of `state()`."""
        if "weights" in state:
            self._weights, self._squares = state["weights"], state["squares"]
