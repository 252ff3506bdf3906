"""What everything compiled stands on: the state of a run, the decorator for compiled functions, sets of bits, draws.

It knows how a run is laid out in memory, how its functions are compiled and kept on disk, how random numbers are drawn
and how Python gets a turn. It knows no rule of scheduling, and calls no other room.
"""
