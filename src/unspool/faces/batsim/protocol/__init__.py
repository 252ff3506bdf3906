"""Batsim's protocol, version 4: simulator and scheduler as two programs that exchange JSON over ZeroMQ."""
