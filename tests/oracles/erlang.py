"""Closed formulas of queueing theory: M/M/c, first come first served."""


def mean_wait(rate_per_s, mean_run_time_s, servers):
    """Mean time in the queue of M/M/c, in seconds, by Erlang's C formula."""
    offered = rate_per_s * mean_run_time_s
    assert offered < servers, "the queue grows without end"
    return probability_of_waiting(offered, servers) * mean_run_time_s / (servers - offered)


def probability_of_waiting(offered, servers):
    """Erlang C, from Erlang B by its recursion over the servers, which cannot overflow."""
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = offered * blocked / (server + offered * blocked)
    return blocked / (1.0 - (offered / servers) * (1.0 - blocked))
