"""What jobs do while they run: programs of tasks, transfers, messages and delays, and the replay of MPI traces.

It knows how far each job is with its program, begins its tasks on the network, and says when the job is done. It calls
the kernel, jobs' records and the network.
"""
