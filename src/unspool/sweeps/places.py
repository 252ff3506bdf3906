"""Where runs are made: processes of this machine, or a cluster of Dask, of Slurm through it, or of Kubernetes."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from unspool.confinement.worker import confine_child
from unspool.errors import InputError, RunError, shown
from unspool.results.store import versions
from unspool.sweeps.inputs import Inputs
from unspool.units import format_duration

__all__ = ["Certificate", "Place", "cores_here", "dask_place", "kubernetes_place", "local_place", "slurm_place"]

_RECYCLED_AFTER = 20_000  # runs, so that whatever a worker gathers does not grow for ever
_WAIT_S = 300
_ASKED_EVERY_S = 5.0
_TOLD_EVERY_S = 60

Said = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Opens an executor, with how many workers it has; a new one after `recycled_after` runs, if that is said."""

    name: str
    opened: Callable[[Inputs], Any]
    recycled_after: int | None = None


@dataclass(frozen=True)
class Certificate:
    """Files in PEM by which a cluster knows us and we know it; what is None, Dask's own configuration says."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def security(self) -> Any:
        """The same as Dask takes it: nothing is ever sent in the clear."""
        given = {"tls_ca_file": self.ca, "tls_client_cert": self.cert, "tls_client_key": self.key}
        named = {name: path for name, path in given.items() if path is not None}
        for path in named.values():
            if not os.path.isfile(path):
                raise InputError(f"{path}: there is no such file; expected a certificate or a key in PEM")
        return _needed("distributed", "cluster").Security(require_encryption=True, **named)


def cores_here() -> int:
    """Cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_place(processes: int) -> Place:
    """So many processes of this machine. Each reads a log once, and takes the compiled loop from the cache on disk."""
    if processes < 1:
        raise InputError(f"-j {processes}: expected 1 or more")

    @contextmanager
    def opened(inputs: Inputs) -> Iterator[tuple[Executor, Callable[[], int]]]:
        with _one_thread_each():
            # Not forked: Polars has threads, which a fork does not take along.
            context = multiprocessing.get_context("spawn")
            executor = ProcessPoolExecutor(processes, mp_context=context, initializer=_begin)
            try:
                yield executor, lambda: processes
            finally:
                executor.shutdown(wait=True, cancel_futures=True)

    return Place(f"{processes} process{'es' * (processes > 1)}", opened, _RECYCLED_AFTER)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that start now use one thread each in Polars: there are as many processes as cores."""
    before = os.environ.get("POLARS_MAX_THREADS")
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["POLARS_MAX_THREADS"]
        else:
            os.environ["POLARS_MAX_THREADS"] = before


def _begin() -> None:
    """In a worker: Ctrl-C is for the sweep, which waits for the run under way; without the sweep there is no worker.

    What the sweep may not touch, its workers may not.
    """
    confine_child()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def dask_place(address: str, timeout: str = "20s", certificate: Certificate | None = None) -> Place:
    """A cluster of Dask that is running, by the address of its scheduler.

    With `tls://` both sides show a certificate. Whoever reaches a scheduler without one can run code on its workers.
    """
    client_class = _needed("distributed", "cluster").Client
    is_tls = address.startswith("tls://")
    if certificate is not None and not is_tls:
        raise InputError(f"--cluster {address}: certificates are for an address that begins with tls://")
    security = (certificate or Certificate()).security() if is_tls else None

    @contextmanager
    def opened(inputs: Inputs) -> Iterator[tuple[Executor, Callable[[], int]]]:
        try:
            with _unlogged("distributed.comm.tcp", "distributed.client"):
                client = client_class(address, timeout=timeout, security=security, set_as_default=False)
        except TypeError as error:  # of Dask, where it has no certificate at all
            raise InputError(
                f"--cluster {address}: needs a certificate; give --tls-ca, --tls-cert and --tls-key"
            ) from error
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"--cluster {address}: no scheduler answers there ({error})") from error
        with client, _ready(client, inputs) as ready:
            yield ready

    return Place(f"the Dask cluster {address}", opened)


def slurm_place(jobs: int, options: Mapping[str, Any], said: Said = lambda text: None) -> Place:
    """Workers as jobs of Slurm, so many of them, through dask-jobqueue, with its options or its own configuration.

    Of `cores` each makes runs in a process of its own, unless `processes` is said. The sweep waits for its first worker
    for as long as Slurm lets it, and `said` is told so.
    """
    cluster_class = _needed("dask_jobqueue", "slurm").SLURMCluster
    if shutil.which(cluster_class.job_cls.submit_command) is None:
        raise InputError("--slurm: there is no sbatch here; start the sweep where jobs are submitted")
    alone = {"processes": options["cores"]} if "cores" in options else {}

    def begin(cluster: Any) -> None:
        cluster.scale(jobs=jobs)
        cluster.sync(_submitted, cluster)

    return _started("slurm", cluster_class, jobs, {**alone, **options}, begin, said)


def kubernetes_place(jobs: int, options: Mapping[str, Any], said: Said = lambda text: None) -> Place:
    """Workers as pods of Kubernetes, so many of them, through dask-kubernetes and its operator."""
    cluster_class = _needed("dask_kubernetes.operator", "kubernetes").KubeCluster
    return _started("kubernetes", cluster_class, jobs, options, lambda cluster: cluster.scale(jobs), said)


def _started(
    kind: str, cluster_class: Any, jobs: int, options: Mapping[str, Any], begin: Callable[[Any], None], said: Said
) -> Place:
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: expected 1 or more")
    client_class = _needed("distributed", "cluster").Client

    @contextmanager
    def opened(inputs: Inputs) -> Iterator[tuple[Executor, Callable[[], int]]]:
        try:
            cluster = cluster_class(**options)
        # Each kind of cluster raises what its own library does.
        except Exception as error:
            raise InputError(f"--{kind}: the cluster cannot be started: {_reason(error)}") from error
        with _unlogged("asyncio", "tornado.application"):
            try:
                begin(cluster)
            except (OSError, RuntimeError, ValueError) as error:
                with suppress(Exception):  # workers that never were cannot be closed
                    cluster.close()
                raise InputError(f"--{kind}: no worker can be started: {_reason(error)}") from error
        with cluster, client_class(cluster, set_as_default=False) as client:
            _wait_for_first(client, kind, said)
            with _ready(client, inputs) as ready:
                yield ready

    return Place(f"{jobs} workers of {kind}", opened)


async def _submitted(cluster: Any) -> None:
    """Wait until all jobs are submitted: what is wrong with one is raised here, and only logged otherwise."""
    await cluster
    for job in list(cluster.workers.values()):
        await job


@contextmanager
def _unlogged(*names: str) -> Iterator[None]:
    """For what is raised, too, and told in a sentence."""
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        gc.collect()  # asyncio logs what nobody asked for when it is thrown away
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def _reason(error: Exception) -> str:
    """What an error says, on one line, or of a command what that said; its name where it says nothing."""
    text = str(error).rpartition("stderr:")[2]
    return shown(" ".join((text if text.strip() else str(error)).split()) or type(error).__name__, 300)


def _wait_for_first(client: Any, kind: str, said: Said) -> None:
    """Wait for the first worker: jobs may stand in a queue for hours."""
    began = monotonic()
    while True:
        try:
            client.wait_for_workers(1, timeout=_TOLD_EVERY_S)
            return
        except TimeoutError:
            said(f"waiting for {kind} to start a worker: {format_duration(round(monotonic() - began))}; Ctrl-C leaves")


@contextmanager
def _ready(client: Any, inputs: Inputs) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """An executor over the workers of a cluster, once one is there, all have our versions, and the files are there."""
    try:
        client.wait_for_workers(1, timeout=_WAIT_S)
    except TimeoutError as error:
        raise RunError(f"no worker joined the cluster within {_WAIT_S} s; see the logs of its workers") from error
    mine = versions()
    for worker, theirs in client.run(versions).items():
        if theirs != mine:
            other = ", ".join(f"{name} {text}" for name, text in theirs.items() if mine.get(name) != text)
            raise RunError(f"worker {worker} has {other}; results could differ, so install the same as here")
    # Dask brings them to workers that join later, too.
    for path in inputs.paths:
        client.upload_file(path, load=False)
    for path in inputs.module_paths:
        client.upload_file(path)
    # A run is a function of its settings: one that was lost with its worker may be made again.
    executor = client.get_executor(retries=3, pure=False)
    try:
        yield executor, _counted(client)
    finally:
        executor.shutdown(wait=False)


def _counted(client: Any) -> Callable[[], int]:
    """How many runs the cluster makes at once; asked again now and then, because workers come and go."""
    known, due = 1, 0.0

    def count() -> int:
        nonlocal known, due
        if monotonic() >= due:
            known, due = max(1, sum(client.nthreads().values())), monotonic() + _ASKED_EVERY_S
        return known

    return count


def _needed(module: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"this needs {module.partition('.')[0]}; install it: pip install 'unspool[{extra}]'"
        ) from error
