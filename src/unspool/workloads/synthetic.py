"""Seeded logs that nobody recorded: Poisson arrivals for queueing theory, Lublin-Feitelson for supercomputers.

The models are in `unspool.workloads.generators`, one file each.
"""

from __future__ import annotations

from unspool.workloads.generators.estimates import MODAL_ESTIMATES_S
from unspool.workloads.generators.lublin import lublin
from unspool.workloads.generators.poisson import poisson

__all__ = ["MODAL_ESTIMATES_S", "lublin", "poisson"]
