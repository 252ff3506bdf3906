"""What a scheduler is told at the beginning: the machines, the settings, the profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.faces.batsim.protocol.book import Book
from unspool.faces.batsim.protocol.numbers import json_text
from unspool.model.network import Host
from unspool.model.platform import Platform

__all__ = ["Terms", "begins_text"]


@dataclass(frozen=True)
class Terms:
    """What both sides agree upon; the names are those of Batsim's options."""

    forward_profiles_on_submission: bool = False
    enable_dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    enable_profile_reuse: bool = False
    forward_unknown_events: bool = False
    shares_machines: bool = False
    shares_storages: bool = True
    sched_config: str = ""


def begins_text(terms: Terms, platform: Platform, book: Book) -> str:
    """The data of SIMULATION_BEGINS. Beside what Batsim tells, machines have `speed` (flop/s of a core) and `cores`."""
    hosts = () if platform.network is None else platform.network.hosts
    storages = [host for host in hosts if host.role == "storage"]
    count = platform.machine_count
    return json_text(
        {
            "nb_resources": count + len(storages),
            "nb_compute_resources": count,
            "nb_storage_resources": len(storages),
            "allow_compute_sharing": terms.shares_machines,
            "allow_storage_sharing": terms.shares_storages,
            "config": _config(terms),
            "compute_resources": [_resource(at, host) for at, host in enumerate(hosts[:count])],
            "storage_resources": [_resource(count + at, host) for at, host in enumerate(storages)],
            "workloads": book.paths,
            "profiles": book.profiles,
        }
    )


def _config(terms: Terms) -> Mapping[str, Any]:
    return {
        "redis-enabled": False,
        "redis-hostname": "127.0.0.1",
        "redis-port": 6379,
        "redis-prefix": "default",
        "profiles-forwarded-on-submission": terms.forward_profiles_on_submission,
        "dynamic-jobs-enabled": terms.enable_dynamic_jobs,
        "dynamic-jobs-acknowledged": terms.acknowledge_dynamic_jobs,
        "profile-reuse-enabled": terms.enable_profile_reuse,
        "sched-config": terms.sched_config,
        "forward-unknown-events": terms.forward_unknown_events,
    }


def _resource(number: int, host: Host) -> Mapping[str, Any]:
    role = "storage" if host.role == "storage" else ""
    return {
        "id": number,
        "name": host.name,
        "state": "idle",
        "properties": {"role": role, **{name: str(value) for name, value in host.properties.items()}},
        "zone_properties": {name: str(value) for name, value in host.zone_properties.items()},
        "speed": host.speed,
        "cores": host.cores,
    }
