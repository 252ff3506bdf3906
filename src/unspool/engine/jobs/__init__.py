"""What becomes of jobs over time: events, the queue and its order, starts, the journal, estimates, plans.

It knows who waits, in which order, who runs and when each is expected to end, and what conservative backfilling has
promised. It does not know what a job does while it runs. It calls the kernel and place.
"""
