"""Disks and licences of a configuration, checked."""

from __future__ import annotations

from unspool.errors import InputError, shown
from unspool.faces.cloud.keys import ClusterKeys
from unspool.faces.cloud.patterns import refuse_patterns
from unspool.model.cloud import Disk, Licence

__all__ = ["disks_of", "licences_of"]


def disks_of(cluster: ClusterKeys, place: str) -> tuple[Disk, ...]:
    """The disks of each instance; one without a size would be free, and most likely a key is missing."""
    for at, entry in enumerate(cluster.Disks):
        refuse_patterns((entry.types,), f"{place}.Disks[{at}].types")
        if not (entry.GiB or entry.GiBPerCore):
            raise InputError(f"{place}.Disks[{at}]: has no size; give GiB, GiBPerCore or both")
    return tuple(Disk(one.UsdPerGiBMonth, one.GiB, one.GiBPerCore, one.types) for one in cluster.Disks)


def licences_of(cluster: ClusterKeys, place: str) -> tuple[Licence, ...]:
    """The licences of instances, and those that jobs hold."""
    for at, entry in enumerate(cluster.Licences):
        refuse_patterns((entry.types,), f"{place}.Licences[{at}].types")
        if not (entry.UsdPerHour or entry.UsdPerCoreHour or entry.UsdPerHeldHour):
            told = f"'{shown(entry.Name)}' has no price; give UsdPerHour, UsdPerCoreHour or UsdPerHeldHour"
            raise InputError(f"{place}.Licences[{at}]: {told}")
        if entry.types and not (entry.UsdPerHour or entry.UsdPerCoreHour):
            raise InputError(f"{place}.Licences[{at}].types: has no effect on UsdPerHeldHour; leave it out")
    return tuple(
        Licence(one.Name, one.UsdPerHour, one.UsdPerCoreHour, one.UsdPerHeldHour, one.types) for one in cluster.Licences
    )
