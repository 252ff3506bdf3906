"""Gradient boosting: trees that scikit-learn grows and a compiled loop asks.

A call of the library costs half a millisecond whatever it is asked; the loop needs a few microseconds a job, and gives
one job the same bits alone and among others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Array
from unspool.errors import InputError, RunError
from unspool.policies.learning.extras import needed

__all__ = ["Forest", "Trees"]

NODE = np.dtype(
    [
        ("value", "f8"),
        ("threshold", "f8"),
        ("feature", "i8"),
        ("left", "i8"),
        ("right", "i8"),
        ("missing_left", "i8"),
        ("is_leaf", "i8"),
    ],
    align=True,
)


@compiled
def _add_leaves(rows: Array, nodes: Array, roots: Array, told: Array) -> None:
    """Add the value of the leaf that each row falls into, tree by tree."""
    for at in range(len(rows)):
        total = told[at]
        for root in roots:
            node = root
            while nodes[node]["is_leaf"] == 0:
                value = rows[at, nodes[node]["feature"]]
                goes_left = nodes[node]["missing_left"] != 0 if np.isnan(value) else value <= nodes[node]["threshold"]
                node = nodes[node]["left"] if goes_left else nodes[node]["right"]
            total += nodes[node]["value"]
        told[at] = total


class Forest(NamedTuple):
    """Trees that were grown: `predict` gives log(1 + seconds) for rows of features."""

    nodes: Array
    roots: Array
    baseline: float

    def predict(self, rows: Array, codes: Array) -> Array:
        """A number for each row."""
        told = rows[:, -1] + self.baseline
        _add_leaves(rows, self.nodes, self.roots, told)
        return told


class Trees:
    """Grows a forest anew from the samples of a window, over the base: the median, or another quantile."""

    coded: ClassVar[tuple[int, ...]] = ()
    is_online = False

    def __init__(
        self, trees: int = 50, learning_rate: float = 0.1, leaves: int = 15, least: int = 20, quantile: float = 0.5,
        seed: int = 0,
    ) -> None:  # fmt: skip
        if trees < 1 or leaves < 2 or least < 1 or not 0.0 < learning_rate <= 1.0:
            raise InputError(
                f"boosting: trees {trees}, leaves {leaves}, least {least}, learning_rate {learning_rate}; expected at "
                "least one tree of two leaves, one sample a leaf, and a rate above 0 up to 1"
            )
        if not 0.0 < quantile < 1.0:
            raise InputError(f"boosting: quantile is {quantile}; expected a number between 0 and 1")
        needed("sklearn", "boosting")
        self._given = {
            "max_iter": trees, "learning_rate": learning_rate, "max_leaf_nodes": leaves, "min_samples_leaf": least,
        }  # fmt: skip
        # The median has a loss of its own, which is not slower and starts from the median.
        loss = {"loss": "absolute_error"} if quantile == 0.5 else {"loss": "quantile", "quantile": quantile}
        self._loss: dict[str, Any] = loss
        self.seed = seed
        self._forest: Forest | None = None

    def fit(self, rows: Array, codes: Array, targets: Array) -> None:
        """Grow a forest from samples, oldest first."""
        grower = needed("sklearn.ensemble", "boosting").HistGradientBoostingRegressor(
            **self._loss, early_stopping=False, random_state=self.seed, **self._given
        )
        # A column of which nothing is known yet has no thresholds, at which scikit-learn stumbles.
        rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)
        # One thread: sums over several come in another order from run to run.
        with needed("threadpoolctl", "boosting").threadpool_limits(1):
            grower.fit(rows, targets - rows[:, -1])
            some = rows[-8:]
            expected = grower.predict(some) + some[:, -1]
        self._forest = _forest_of(grower)
        if not np.allclose(self._forest.predict(some, codes), expected):
            raise RunError("boosting: this version of scikit-learn stores its trees in another way; install 1.4 to 1.9")

    def served(self) -> Forest | None:
        """The forest as it is now."""
        return self._forest

    def state(self) -> dict[str, Any]:
        """Arrays to keep in a file."""
        if self._forest is None:
            return {}
        return {"nodes": self._forest.nodes, "roots": self._forest.roots, "baseline": self._forest.baseline}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the arrays of `state()`."""
        if "nodes" in state:
            self._forest = Forest(state["nodes"].astype(NODE), state["roots"], float(state["baseline"]))


def _forest_of(grower: Any) -> Forest:
    trees = [tree.nodes for each in grower._predictors for tree in each]
    roots = np.cumsum([0, *(len(tree) for tree in trees)])[:-1].astype(np.int64)
    nodes = np.zeros(sum(len(tree) for tree in trees), NODE)
    for root, tree in zip(roots.tolist(), trees, strict=True):
        own = nodes[root : root + len(tree)]
        own["value"], own["threshold"], own["feature"] = tree["value"], tree["num_threshold"], tree["feature_idx"]
        own["left"], own["right"] = tree["left"] + root, tree["right"] + root
        own["missing_left"], own["is_leaf"] = tree["missing_go_to_left"], tree["is_leaf"]
    return Forest(nodes, roots, float(np.ravel(grower._baseline_prediction)[0]))
