"""Simulations as Batsim has them: its inputs, its options, its output files."""
