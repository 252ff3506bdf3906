"""The laws of FCFS and EASY from their definitions, instant by instant, with nothing carried from one to the next.

It imports nothing of unspool and is what the audit's bookkeeping is held against. Jobs are (submit, run, size,
estimate) in queue order, with run times of 1 or more that the estimates bound; any starts will do.
"""


class Seen:
    """A schedule at one decision instant."""

    def __init__(self, jobs, starts, cores, time):
        self.jobs, self.starts, self.time = jobs, starts, time
        ends = [start + job[1] for job, start in zip(jobs, starts, strict=True)]
        self.running = [j for j in range(len(jobs)) if starts[j] < time < ends[j]]
        self.started = [j for j in range(len(jobs)) if starts[j] == time]
        self.waiting = [j for j in range(len(jobs)) if jobs[j][0] <= time < starts[j]]
        self.free = cores - self.held(self.running)

    def held(self, which):
        return sum(self.jobs[j][2] for j in which)

    def expected_end(self, job):
        return self.starts[job] + self.jobs[job][3]

    def shadow(self, head, others):
        """The earliest expected end at which the head fits beside what is left of `others`, and what is over then."""
        held = self.free + self.held(self.running)
        for end in sorted(self.expected_end(j) for j in others):
            left = held - self.held(j for j in others if self.expected_end(j) > end)
            if left >= self.jobs[head][2]:
                return end, left - self.jobs[head][2]
        raise AssertionError("the head does not fit on the empty pool")


def instants(jobs, starts):
    return sorted({job[0] for job in jobs} | {start + job[1] for job, start in zip(jobs, starts, strict=True)})


def fcfs(jobs, starts, cores):
    """(jobs that overtake somebody, instants at which the head waits and fits)."""
    overtaking = {j for j, start in enumerate(starts) if any(jobs[i][0] <= start < starts[i] for i in range(j))}
    missed = 0
    for time in instants(jobs, starts):
        seen = Seen(jobs, starts, cores, time)
        if seen.waiting:
            missed += jobs[seen.waiting[0]][2] <= seen.free - seen.held(seen.started)
    return len(overtaking), missed


def easy(jobs, starts, cores):
    """(blocked heads, promises broken, instants at which somebody waits who may start)."""
    promised, missed = {}, 0
    for time in instants(jobs, starts):
        seen = Seen(jobs, starts, cores, time)
        if not seen.waiting:
            continue
        head, *rest = seen.waiting
        before = [j for j in seen.started if j < head]
        behind = [j for j in seen.started if j > head]
        free = seen.free - seen.held(before)
        if jobs[head][2] <= free:
            missed += 1
            continue
        shadow, extra = seen.shadow(head, [*seen.running, *before])
        promised.setdefault(head, shadow)
        free -= seen.held(behind)
        extra -= seen.held(j for j in behind if seen.expected_end(j) > shadow)
        missed += any(jobs[j][2] <= free and (time + jobs[j][3] <= shadow or jobs[j][2] <= extra) for j in rest)
    return len(promised), sum(starts[head] > shadow for head, shadow in promised.items()), missed
