"""Seeded logs that nobody recorded, one file a model: Poisson, Lublin-Feitelson, fitted to a log, ReCodEx."""

from __future__ import annotations

from unspool.workloads.generators.fitted import Fitted
from unspool.workloads.generators.fitting import fit
from unspool.workloads.generators.lublin import lublin
from unspool.workloads.generators.poisson import poisson
from unspool.workloads.generators.recodex import Recodex, recodex, write_recodex

__all__ = ["Fitted", "Recodex", "fit", "lublin", "poisson", "recodex", "write_recodex"]
