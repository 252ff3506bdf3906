"""Machines that come and go: instances that are started, boot, wait without jobs and stop.

It knows types, prices, limits and spot, which machines a job holds or waits for, and which machine is the fullest. When
to start one is a policy's business. It calls the kernel, place and jobs.
"""
