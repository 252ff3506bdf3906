"""Small logs of ReCodEx, written by hand."""

from unspool.workloads.recodex import JOB_COLUMNS, REF_COLUMNS

_USUAL = ("a", 20, "u", 1, "default")
JOB_HEADER, REF_HEADER = ";".join(JOB_COLUMNS), ";".join(REF_COLUMNS)


def jobs_csv(*rows):
    """Rows of (arrival, duration, exercise, limits, user, compiles, group of workers), the last four not needed."""
    lines = [JOB_HEADER]
    for at, row in enumerate(rows):
        spawn, duration, exercise, limits, user, ok, group = (*row, *_USUAL[len(row) - 2 :])
        lines.append(f"j{at};s{at};g;t;{exercise};r;{group};{user};{spawn};0;{limits};0;1;{ok};{duration}")
    return "\n".join(lines) + "\n"


def refs_csv(*rows):
    """Rows of (arrival, duration, exercise)."""
    lines = [
        f"r{at};s;{exercise};r;default;{spawn};1;1;{duration}" for at, (spawn, duration, exercise) in enumerate(rows)
    ]
    return "\n".join([REF_HEADER, *lines]) + "\n"


JOBS = jobs_csv((100, 40, "a"), (100, 10, "b"), (110, 10, "a"), (170, 10, "b"))
REFS = refs_csv((50, 50, "a"), (105, 50, "c"))
