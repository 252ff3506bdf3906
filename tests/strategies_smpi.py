"""Traces for Hypothesis in which every message has both its sides: what all ranks do, drawn in one order."""

from hypothesis import strategies as st

SIZES = (0, 1, 1000, 20000, 65535, 65536, 700000, 2000000)
FLOPS = (0, 1000000, 30000000, 100000000)
ALL = ("barrier", "bcast", "reduce", "allreduce", "alltoall", "alltoallv", "allgather", "gather", "scatter", "scan",
       "exscan", "gatherv", "scatterv", "allgatherv", "reducescatter")  # fmt: skip


def _collective(draw, name, ranks):
    size, flops = draw(st.sampled_from(SIZES)), draw(st.sampled_from(FLOPS))
    root = draw(st.integers(0, ranks - 1))
    sizes = " ".join(str(draw(st.sampled_from(SIZES))) for _ in range(ranks))
    same = " ".join([str(size)] * ranks)
    if name == "alltoallv":
        table = [[draw(st.sampled_from(SIZES)) for _ in range(ranks)] for _ in range(ranks)]
        return [
            f"alltoallv 1 {' '.join(map(str, table[me]))} 1 {' '.join(str(row[me]) for row in table)}"
            for me in range(ranks)
        ]
    line = {
        "barrier": "barrier",
        "bcast": f"bcast {size} {root}",
        "reduce": f"reduce {size} {flops} {root}",
        "allreduce": f"allreduce {size} {flops}",
        "alltoall": f"alltoall {size} {size}",
        "allgather": f"allgather {size} {size}",
        "gather": f"gather {size} {size} {root}",
        "scatter": f"scatter {size} {size} {root}",
        "scan": f"scan {size} {flops}",
        "exscan": f"exscan {size} {flops}",
        "gatherv": f"gatherv {size} {same} {root}",
        "allgatherv": f"allgatherv {size} {same}",
        "scatterv": f"scatterv {sizes} {size} {root}",
        "reducescatter": f"reducescatter {sizes} {flops}",
    }[name]
    return [line] * ranks


@st.composite
def scripts(draw, most_ranks=5, most_steps=9):
    """What each rank does, as lines. Each step is of one rank, of two, or of all; a wait comes behind its request."""
    ranks = draw(st.integers(2, most_ranks))
    lines = [["init"] if draw(st.booleans()) else ["init 1"] for _ in range(1)] * 1
    lines = [list(lines[0]) for _ in range(ranks)]
    for _ in range(draw(st.integers(1, most_steps))):
        kind = draw(st.sampled_from(("compute", "sleep", "message", "message", "message", "all", "waitall", "swap")))
        me = draw(st.integers(0, ranks - 1))
        other = (me + draw(st.integers(1, ranks - 1))) % ranks
        size, tag = draw(st.sampled_from(SIZES)), draw(st.integers(0, 1))
        if kind == "compute":
            lines[me].append(f"compute {draw(st.sampled_from(FLOPS))}")
        elif kind == "sleep":
            lines[me].append(f"sleep {draw(st.sampled_from((0, 0.001, 0.1)))}")
        elif kind == "waitall":
            lines[me].append("waitall")
        elif kind == "swap":
            lines[me].append(f"sendRecv {size} {other} {size} {other}")
            lines[other].append(f"sendRecv {size} {me} {size} {me}")
        elif kind == "message":
            sends, takes = draw(st.sampled_from(("send", "isend"))), draw(st.sampled_from(("recv", "irecv")))
            known = size if draw(st.integers(0, 5)) else -1
            lines[me].append(f"{sends} {other} {tag} {size}")
            lines[other].append(f"{takes} {me} {tag} {known}")
            for rank, name in ((me, sends), (other, takes)):
                if name[0] == "i" and draw(st.booleans()):
                    if draw(st.integers(0, 3)) == 0:
                        lines[rank].append(f"test {me} {other} {tag}")
                    lines[rank].append(f"wait {me} {other} {tag}")
        else:
            for rank, line in enumerate(_collective(draw, draw(st.sampled_from(ALL)), ranks)):
                lines[rank].append(line)
    return [[*each, "finalize"] for each in lines]
