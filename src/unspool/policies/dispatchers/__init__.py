"""Dispatchers: which worker's queue a job joins when it arrives."""
