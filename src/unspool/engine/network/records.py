"""What shares, as rows of arrays: resources, bundles of them, activities and what they use."""

from __future__ import annotations

import numpy as np

__all__ = ["ACTIVITY", "BESIDE", "BUNDLE", "CROWD", "DUE", "RESOURCE", "SHARING", "WAY"]

# Work that shares processors and links.
SHARING = np.dtype(
    [
        ("clean", "i8"),  # 1: without the two side effects of SimGrid's rounds
        ("has_fat", "i8"),  # 1: some links are fat
        ("gamma", "f8"),  # bytes that a flow may have on the way, which bounds it where latency is long
        ("hosts", "i8"),  # resources and bundles below this are hosts, the others links
        ("slots", "i8"),  # of activities that were ever in use,
        ("spare", "i8"),  # and the first of those given back, -1 for none
        ("top", "i8"),  # elements that were ever in use
        ("due", "i8"),  # entries of the heap
        ("dirty", "i8"),  # components whose rates are out of date
        ("flows", "i8"),  # activities that share now,
        ("in_use", "i8"),  # and their elements
        ("mark", "i8"),  # counts searches, so that nothing need be unmarked
        ("endless", "i8"),  # 1: rounds on fat links did not end
        ("settled", "i8"),  # how many of the dirty have their rates, where Python has a turn before all do:
        ("phase", "i8"),  # how the next of them is being shared out, 0: not yet,
        ("rounds", "i8"),  # after so many rounds,
        ("open", "i8"),  # with so many members that still rise,
        ("listed", "i8"),  # bundles that they share,
        ("listed_fat", "i8"),  # and fat links
        ("work", "i8"),  # members and bundles that rounds came by since the last look at the clock
        ("second", "i8"),  # on the wall clock, when Python last had a turn
        ("touched", "i8"),  # links that the task in the making uses
        ("latency", "f8"),  # of the task in the making,
        ("window", "f8"),  # and the largest latency x bytes of its flows
        ("bin_s", "f8"),  # how wide the bins of what is used are, 0 where that is not written down,
        ("use_from", "f8"),  # and when they begin
    ],
    align=True,
)
RESOURCE = np.dtype(
    [
        ("speed", "f8"),  # of one core
        ("cores", "f8"),
        ("is_fat", "i8"),  # 1: each user may have all of it
        ("bundle", "i8"),  # where it is dealt out,
        ("lane", "i8"),  # and in which lane
    ],
    align=True,
)
# A host with up to three links of its own, which are dealt out at once, or another link; the host is in the first lane.
BUNDLE = np.dtype(
    [
        ("first", "i8"),  # element on it, -1 for none
        ("is_fat", "i8"),  # 1: a fat link, alone
        ("least", "f8"),  # in the rounds: of a fat one the least that a user takes
        ("mark", "i8"),  # the search that last came by,
        ("seen", "i8"),  # that for parts which last did, with the lanes in which it did,
        ("spot", "i8"),  # and the first element here of the task in the making
    ],
    align=True,
)
ACTIVITY = np.dtype(
    [
        ("kind", "i8"),
        ("owner", "i8"),
        ("left", "f8"),  # fraction still to be done at `since`
        ("since", "f8"),
        ("rate", "f8"),
        ("end", "f8"),
        ("bound", "f8"),
        ("wire_bound", "f8"),  # the part of it that does not depend on the speed of hosts
        ("step", "f8"),  # in the rounds: by how much its rate rose last
        ("worth", "f8"),  # what its rate is multiplied by where rates rise together to a level; 0: it shares in rounds
        ("element", "i8"),  # the first; first those of shared bundles, then of fat links
        ("shared", "i8"),
        ("elements", "i8"),
        ("is_plain", "i8"),  # 1: no resource stands twice among them
        ("leader", "i8"),  # of its component, which is a ring
        ("next", "i8"),
        ("before", "i8"),
        ("size", "i8"),  # of the leader: members of the component,
        ("gone", "i8"),  # those that left since it was last searched for parts,
        ("dirty", "i8"),
        ("place", "i8"),  # and its place in the heap, -1: in none
        ("mark", "i8"),
    ],
    align=True,
)
# Elements on one bundle; of each, the lanes in which it weighs something, as bits.
BESIDE = np.dtype([("activity", "i8"), ("next", "i8"), ("before", "i8"), ("lanes", "i8")], align=True)
DUE = np.dtype([("time", "f8"), ("activity", "i8")], align=True)
CROWD = np.dtype(
    [
        ("executors", "i8"),
        ("squares", "i8"),  # of executors on a host, summed over hosts
        ("out", "f8"),  # the largest latency of a way out of a host, -1 before the first,
        ("home", "f8"),  # and of one home
        ("pair_out", "f8"),  # the two, out of a host and home to another, that are the largest together
        ("pair_home", "f8"),
    ],
    align=True,
)
WAY = np.dtype([("first", "i8"), ("count", "i8"), ("latency", "f8")], align=True)  # part of a route, as links
