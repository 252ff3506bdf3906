"""Where jobs run: machines and what is free on them, the shapes of jobs, parts of the network, choosing machines.

It knows how many units of a shape fit on each machine, now and at a later time, and takes and gives back what jobs use.
It does not know which job should start, or when. It calls the kernel.
"""
