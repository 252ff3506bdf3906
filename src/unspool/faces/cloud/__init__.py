"""From a scheduler's log to a bill: the configuration, the jobs that count, the machines that they run on."""
