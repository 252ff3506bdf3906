"""Provisioners: what brings machines up for jobs that wait."""
