"""`unspool`: the verbs, and how a run ends. Verbs are imported when they are called, so that `--help` is quick."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError, UnknownOptionError, UnusedCliTokensError

from unspool.cli import CUT_SHORT, INTERRUPTED, main
from unspool.cli.interrupts import Interrupts
from unspool.cli.output import forget
from unspool.errors import InputError, InputErrors, UnspoolError, shown
from unspool.limits import raised

__all__ = ["app", "main", "mend_streams", "run_command"]

DONE, FAILED, WRONG_INPUT = 0, 1, 2
_DEBUG = "UNSPOOL_DEBUG"
_LIMIT = "--raise-limit"
_LONGEST = 1000  # characters of a complaint
_OF_BATSIM_5 = frozenset({
    "-L", "-S", "-l", "--config", "--ee", "--energy-host", "--energy-link", "--external-events", "--gen-config",
    "--trace-machine-state", "--trace-probe-data", "--trace-pstate-changes",
})  # fmt: skip
_COMPARE = """Compare results job by job, with confidence intervals.

For example: unspool compare OUT --baseline easy --by size --warm-up 7d

An interval says how much a figure varies over stretches of this log; it says nothing of other logs."""
_CONVERT = """Turn a log into another: its format, its jobs.

For example: unspool convert sacct.txt small.parquet --where "cores <= 64"

How the log comes out of Slurm, with dates in UTC:

TZ=UTC sacct --allusers --parsable2 --starttime 2024-01-01 --endtime now \\
--format=JobID,State,Submit,Eligible,Start,End,Elapsed,Timelimit,NCPUS,\\
ReqCPUS,AllocNodes,ReqMem,MaxRSS,TotalCPU,AllocTRES,ReqTRES,User,Group,\\
Account,Partition,QOS > sacct.txt

Out of LSF: copy lsb.acct* from LSB_SHAREDIR/CLUSTER/logdir.

Out of Altair Accelerator:

nc cmd vovsql_query -e "select jobs.id, jobs.submittime, jobs.starttime,
jobs.endtime, resources.name, jobs.exitstatus, jobs.maxram, jobs.maxvm,
jobs.cputime, jobs.susptime from jobs inner join resources
on jobs.resourcesid=resources.id" > accelerator.txt"""
_CHECK = (
    "Hold a finished schedule against the laws of a policy.\n\n"
    "Ours or another tool's: it is followed event by event from its own starts and ends. Laws that do not bind, such "
    "as promises where jobs ran longer than their estimates, are told as information. Exits with 1 if one that binds "
    "is violated.\n\n"
    "unspool check results/easy log.swf\n\n"
    "unspool check other-tool.swf log.swf -p 480 --policy easy\n\n"
    "unspool check out_jobs.csv log.csv -p 512 --policy easy --tolerance 1e-3"
)
_WHY = (
    "Say what a job waited for, interval by interval.\n\n"
    "The run is repeated up to the start of the job, under its own policy: no room for it, the reservation of another "
    "job, a plan, the order of the queue, a dependency, a licence.\n\n"
    "For example: unspool why results/easy 1234"
)
_DIFF = (
    "Name the first decision in which two runs differ, and why.\n\n"
    "Exits with 0 if the two results are the same, with 1 if they differ.\n\n"
    "For example: unspool diff results/fcfs results/easy"
)

_FORECAST = """Say when each job will start that waits at a time, with quantiles.

For example: unspool forecast log.swf --at 30d -p 480 --policy easy --replicas 200

The log is replayed up to that time, and nothing in it after that is read: many futures are drawn from its past."""

_COST = """Say what the jobs of a log would cost in the cloud, and what waiting it would save.

For example: unspool cost sacct.txt -c config.yml -o OUT

Write a configuration to begin with: unspool cost --init config.yml"""

_DISPATCH = """Replay a log of jobs under a dispatcher: which worker should each job go to?

For example: unspool dispatch -c experiment.yaml data.csv.gz --refs ref-solutions.csv -o OUT

Experiments, classes and data are those of Simdex, with more of each."""

_SERVE = """Be the scheduler of a Batsim simulation: one of our policies, over its socket.

For example: unspool serve-scheduler --policy easy -s tcp://127.0.0.1:28000"""
_BATSIM = """Simulate jobs on a platform, with Batsim's files and options.

For example: unspool batsim -p platform.xml -w workload.json -e out --policy easy"""

_CONFORM = """Run recorded cases of the tools that people know, and tell what differs.

For example: unspool conform dispatch cases/dispatch

Without a path, the few cases that ship with unspool. Exits with 1 where one does not agree."""

_SWEEP = """Make many runs of one grid, on this machine or on a cluster, and rank them.

For example: unspool sweep grid.toml -j 8 -o OUT

What is there is not run again: --resume goes on after anything. Then: unspool sweep best OUT --by mean_wait_s"""

_STUDIO = """Try it in the browser: a page on this machine, from log to answer.

For example: unspool studio --open"""

app = App(
    name="unspool",
    help="Replay any job log, on any platform, under any policy, and see what would have happened.\n\n"
    "Every verb takes --raise-limit NAME=VALUE, for files that ask for more than they may: line_bytes=1GiB.",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    version=lambda: version("unspool"),
)
app.command("unspool.cli.run:run", name="run", help="Replay a log under one policy or several, and compare them.")
app.command("unspool.cli.cost:app", name="cost", help=_COST)
app.command("unspool.cli.dispatch:dispatch", name="dispatch", help=_DISPATCH)
app.command("unspool.cli.batsim:batsim", name="batsim", help=_BATSIM)
app.command("unspool.cli.servescheduler:serve_scheduler", name="serve-scheduler", help=_SERVE)
app.command("unspool.cli.compare:compare", name="compare", help=_COMPARE)
app.command("unspool.cli.sweep:app", name="sweep", help=_SWEEP)
app.command("unspool.cli.forecast:forecast", name="forecast", help=_FORECAST)
app.command("unspool.cli.report:report", name="report", help="Write the page about a result, for a browser.")
app.command("unspool.cli.convert:convert", name="convert", help=_CONVERT)
app.command("unspool.cli.generate:generate", name="generate", help="Make a log after a model, or like another log.")
app.command("unspool.cli.inspect:inspect", name="inspect", help="Say what is in a log, a platform or a result.")
app.command("unspool.cli.validate:validate", name="validate", help="Check files, without running anything.")
app.command("unspool.cli.check:check", name="check", help=_CHECK)
app.command("unspool.cli.conform:conform", name="conform", help=_CONFORM)
app.command("unspool.cli.why:why", name="why", help=_WHY)
app.command("unspool.cli.diff:diff", name="diff", help=_DIFF)
app.command("unspool.cli.catalogue:catalogue", name="catalogue", help="List types of instances and their prices.")
app.command("unspool.cli.studio:studio", name="studio", help=_STUDIO)
app.command("unspool.cli.plugins:plugins", name="plugins", help="List policies, formats and machine selections.")
app.register_install_completion_command(name="--install-completion", help="Install completion for your shell.")


def mend_streams() -> None:
    """Have streams to write to, whatever the caller did to them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, as with >&-
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (it lives as long as the process)
        getattr(sys, name).reconfigure(errors="backslashreplace")  # a locale without our letters is no reason to fail


def run_command(arguments: Sequence[str] | None = None, interrupts: Interrupts | None = None) -> int:
    """The same without leaving: returns the exit code."""
    try:
        given, limits = _parted(sys.argv[1:] if arguments is None else arguments)
        with raised(limits):
            code = app(given, exit_on_error=False, print_error=False, result_action="return_value")
        _flush()
        _note_machine_code()
    except (Exception, KeyboardInterrupt) as error:
        # What was cut short by an interrupt that nobody could catch may have failed in any way.
        if isinstance(error, KeyboardInterrupt) or (interrupts is not None and interrupts.came):
            return _complain(CUT_SHORT, INTERRUPTED)
        return _told(error)
    except SystemExit as ended:
        if traceback.extract_tb(ended.__traceback__)[-1].name != "on_broken_pipe":
            raise
        return DONE  # Rich, where nobody reads help any more
    return int(code or DONE)


def _flush() -> None:
    """Write what is still in memory; that nobody reads it any more, as behind `head`, is no fault of ours."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_streams()


def _parted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments without `--raise-limit NAME=VALUE`, which every verb takes, and its values."""
    given: list[str] = []
    limits: list[str] = []
    rest = iter(arguments)
    for each in rest:
        if each == "--":
            return [*given, each, *rest], limits
        if each == _LIMIT:
            limits.append(next(rest, ""))
        elif each.startswith(f"{_LIMIT}="):
            limits.append(each.removeprefix(f"{_LIMIT}="))
        else:
            given.append(each)
    if "" in limits:
        raise InputError(f"{_LIMIT}: expected NAME=VALUE, as in {_LIMIT} line_bytes=1GiB")
    return given, limits


def _note_machine_code() -> None:
    """Say so if compiled code could not be kept: every run will compile again."""
    kept = sys.modules.get("unspool.engine.kernel.machine_code")  # loaded only by verbs that run something
    reason = kept.why_not_kept() if kept is not None else None
    if reason is not None:
        sys.stderr.write(
            f"compiled code was not kept, so the next run compiles again ({shown(reason, _LONGEST)}); "
            "set XDG_CACHE_HOME to a folder that can be written\n"
        )


def _told(error: Exception) -> int:
    """Say why a command failed; the exit code."""
    match error:
        case CycloptsError():
            return _complain(_usage(error), WRONG_INPUT)
        case InputErrors():
            return _complain("\n".join(shown(line, _LONGEST) for line in error.lines()), WRONG_INPUT, is_one_line=False)
        case InputError():
            return _complain(str(error), WRONG_INPUT)
        case UnspoolError():
            return _complain(str(error), FAILED)
        case BrokenPipeError() if _forget_streams():
            return DONE
        case MemoryError():
            return _complain("not enough memory for this log on this platform", FAILED)
        case OSError():
            _forget_streams()
            return _complain(f"{error.filename or 'output'}: {error.strerror or error}", FAILED)
    if os.environ.get(_DEBUG):
        traceback.print_exception(error)
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(at.filename)}, line {at.lineno}"
    what = f"{type(error).__name__}: {error} ({where})"
    return _complain(f"a fault of unspool itself; please report what {_DEBUG}=1 shows: {what}", FAILED)


def _usage(error: CycloptsError) -> str:
    verb = " ".join(["unspool", *(error.command_chain or ())])
    text = " ".join(str(error).split())
    if isinstance(error, UnusedCliTokensError):
        first = (error.unused_tokens or [""])[0]
        text = f"'{first}' is one argument too many; an option with several values is given once for each."
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        if option == "-":
            text = "-: standard input is not read; save it as a file first."
        elif verb == "unspool batsim" and (option in _OF_BATSIM_5 or option.startswith("--edc-")):
            text = f"Unknown option: {option}. That is an option of Batsim 5; unspool speaks protocol 4."
    return f"{text} Try: {verb} --help"


def _complain(sentence: str, code: int, *, is_one_line: bool = True) -> int:
    try:
        sys.stderr.write(f"unspool: {shown(sentence, _LONGEST) if is_one_line else sentence}\n")
    except BrokenPipeError:
        forget(sys.stderr)
    return code


def _forget_streams() -> bool:
    """Let Python's own flush at exit go nowhere, of streams that cannot be written; whether there were any."""
    broken = []
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            forget(stream)
            broken.append(stream)
    return bool(broken)
