"""Traces from lists of lines, a folder for them, and when ranks end."""

from unspool.simulation.ranks import rank_ends
from unspool.workloads.smpi_traces import read_smpi_trace


def write_trace(folder, scripts):
    """Write what each rank does, without its number; returns the main file."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, lines in enumerate(scripts):
        (folder / f"rank{rank}.txt").write_text("".join(f"{rank} {line}\n" for line in lines))
    main = folder / "traces.txt"
    main.write_text("".join(f"rank{rank}.txt\n" for rank in range(len(scripts))))
    return main


def ends(folder, network, scripts, hosts=None, **settings):
    """When each rank ends, one host a rank unless it is said."""
    trace = read_smpi_trace(write_trace(folder, scripts))
    return rank_ends(network, trace, hosts or range(len(scripts)), **settings)
