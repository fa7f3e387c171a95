"""Postino's own worker, database and networks in one seeded loop with virtual time: what a seed does, it does again.

`loop` runs the tasks of simulated processes, `source` has their clocks, `database`, `http` and `process` are what a
process talks to, and `sandbox_networks` are the sandbox's networks without a server. Nothing here is meant for
production.
"""
