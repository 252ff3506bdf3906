"""Platforms of SimGrid: zones inside each other, and the ways through them."""
