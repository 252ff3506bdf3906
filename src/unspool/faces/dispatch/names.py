"""Names of components: those of Simdex, original and fork, and our own short ones (spec dispatch B4)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["KINDS", "NAMES", "SIMDEX", "known_names", "target_of"]

_HERE = "unspool.faces.dispatch"

NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "dispatcher": {
            "shortest-queue": f"{_HERE}.dispatchers:ShortestQueue",
            "duration-filter": f"{_HERE}.dispatchers:DurationFilter",
            "job-category": f"{_HERE}.dispatchers:JobCategory",
            "oracle-job-category": f"{_HERE}.dispatchers:OracleJobCategory",
            "predicted-category": f"{_HERE}.dispatchers:PredictedCategory",
            "selector": f"{_HERE}.dispatchers:Selector",
            "least-work": f"{_HERE}.dispatchers:LeastWork",
            "round-robin": f"{_HERE}.dispatchers:RoundRobin",
            "random": f"{_HERE}.dispatchers:RandomWorker",
            "power-of-two": f"{_HERE}.dispatchers:PowerOfChoices",
            "group-aware": f"{_HERE}.dispatchers:GroupAware",
            "central-fifo": f"{_HERE}.central:CentralFifo",
            "central-shortest": f"{_HERE}.central:CentralShortest",
            "work-stealing": f"{_HERE}.central:WorkStealing",
        },
        "duration_predictor": {
            "limits": f"{_HERE}.predictors:Limits",
            "zero": f"{_HERE}.predictors:Zero",
            "oracle": f"{_HERE}.predictors:Oracle",
            "noisy-oracle": f"{_HERE}.predictors:NoisyOracle",
            "index": f"{_HERE}.predictors:IndexPredictor",
            "statistics": f"{_HERE}.predictors:Statistics",
            "boosting": f"{_HERE}.learned:Boosting",
            "linear": f"{_HERE}.learned:Linear",
            "quantile": f"{_HERE}.learned:Quantile",
            "network": f"{_HERE}.learned:Network",
            "embedding": f"{_HERE}.learned:Embedding",
        },
        "worker_selector": {
            "greedy": f"{_HERE}.selectors:GreedyFinish",
            "ucb": f"{_HERE}.selectors:Ucb",
            "thompson": f"{_HERE}.selectors:Thompson",
            "contextual-bandit": f"{_HERE}.agents:ContextualBandit",
            "deep-q": f"{_HERE}.agents:DeepQ",
        },
        "sa_strategy": {
            "simple": f"{_HERE}.strategies:SimpleStrategy",
            "category": f"{_HERE}.strategies:CategoryStrategy",
            "network-category": f"{_HERE}.learned:NetworkCategory",
            "heuristic-limits": f"{_HERE}.strategies:HeuristicLimits",
            "pid-limits": f"{_HERE}.strategies:PidLimits",
            "on-off": f"{_HERE}.strategies:OnOff",
        },
        "metrics": {
            "delay": f"{_HERE}.metrics.delay:Delay",
            "response": f"{_HERE}.metrics.delay:Response",
            "slowdown": f"{_HERE}.metrics.delay:Slowdown",
            "quantiles": f"{_HERE}.metrics.delay:Quantiles",
            "user-experience": f"{_HERE}.metrics.experience:UserExperience",
            "experience-history": f"{_HERE}.metrics.experience:ExperienceHistory",
            "power": f"{_HERE}.metrics.power:Power",
            "energy": f"{_HERE}.metrics.power:Energy",
            "utilisation": f"{_HERE}.metrics.power:Utilisation",
            "prediction-error": f"{_HERE}.metrics.errors:PredictionError",
            "by-class": f"{_HERE}.metrics.errors:ByClass",
        },
    }
)
"""For each key of the experiment file our names and where they live; a new component is one line here."""

KINDS = tuple(NAMES)

SIMDEX: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "experiments.simple.dispatcher.SimpleDispatcher": ("dispatcher", "shortest-queue"),
        "experiments.user_experience.dispatcher.JobCategoryDispatcher": ("dispatcher", "job-category"),
        "experiments.user_experience.dispatcher.OracleJobCategoryDispatcher": ("dispatcher", "oracle-job-category"),
        "dispatchers.DurationFilterDispatcher": ("dispatcher", "duration-filter"),
        "dispatchers.WorkerSelectorDispatcher": ("dispatcher", "selector"),
        "experiments.simple.sa_strategy.SimpleSelfAdaptingStrategy": ("sa_strategy", "simple"),
        "experiments.user_experience.sa_strategy.CategorySelfAdaptingStrategy": ("sa_strategy", "category"),
        "duration_predictors.limits_duration_predictor.LimitsDurationPredictor": ("duration_predictor", "limits"),
        "duration_predictors.oracle_duration_predictor.OracleDurationPredictor": ("duration_predictor", "oracle"),
        "duration_predictors.zero_duration_predictor.ZeroDurationPredictor": ("duration_predictor", "zero"),
        "duration_predictors.statistical_duration_predictor.StatisticalDurationPredictor": (
            "duration_predictor",
            "index",
        ),
        "experiments.user_experience_nn.dispatcher.JobCategoryDispatcher": ("dispatcher", "predicted-category"),
        "experiments.user_experience_nn.sa_strategy.CategorySelfAdaptingStrategy": ("sa_strategy", "network-category"),
        "duration_predictors.nn_duration_predictor.NNDurationPredictor": ("duration_predictor", "network"),
        "duration_predictors.nn_embedding_duration_predictor.NNEmbeddingDurationPredictor": (
            "duration_predictor",
            "embedding",
        ),
        "worker_selectors.q_network_worker_selector.QNetworkWorkerSelector": ("worker_selector", "deep-q"),
        "metrics.default.JobDelayMetricsCollector": ("metrics", "delay"),
        "metrics.default.PowerMetricsCollector": ("metrics", "power"),
        "metrics.user_experience.UserExperienceMetricsCollector": ("metrics", "user-experience"),
        "metrics.user_experience.UserExperienceMetricsCollectorWithHistory": ("metrics", "experience-history"),
        "metrics.quantile.JobDelayQuantilesCollector": ("metrics", "quantiles"),
    }
)
"""The class names of Simdex, and what they are here."""


def target_of(kind: str, name: str) -> str | None:
    """Where a component of ours lives, as `module:Class`; None for a name that is neither ours nor Simdex's.

    >>> target_of("dispatcher", "dispatchers.DurationFilterDispatcher")
    'unspool.faces.dispatch.dispatchers:DurationFilter'
    """
    owner, short = SIMDEX.get(name, (kind, name))
    return NAMES[kind].get(short) if owner == kind else None


def known_names(kind: str) -> list[str]:
    """Every name that a key of the experiment file takes, ours first."""
    return [*NAMES[kind], *(name for name, (owner, _) in SIMDEX.items() if owner == kind)]
