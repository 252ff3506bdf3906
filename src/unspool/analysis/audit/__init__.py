"""A finished schedule against the laws of a policy, replayed from its own starts and ends, without the engine."""
