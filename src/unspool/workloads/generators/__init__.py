"""Seeded logs that nobody recorded, one file a model: Poisson, Lublin-Feitelson, and fitted to a log."""

from __future__ import annotations

from unspool.workloads.generators.fitted import Fitted
from unspool.workloads.generators.fitting import fit
from unspool.workloads.generators.lublin import lublin
from unspool.workloads.generators.poisson import poisson

__all__ = ["Fitted", "fit", "lublin", "poisson"]
