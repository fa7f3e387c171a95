"""The workloads: one file for each kind of work."""
