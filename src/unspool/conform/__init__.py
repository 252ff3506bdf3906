"""Recorded results of the tools that people know, and ours beside them."""
