"""The mechanisms, compiled: state, events and their order, queue, selection of machines, profile of free cores."""
