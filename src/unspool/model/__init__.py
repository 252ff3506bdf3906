"""What there is: jobs, workloads, machines, platforms, prices. Data only."""
