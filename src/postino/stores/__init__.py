"""Databases that keep jobs: one set of operations, one driver and one folder of SQL for each database."""
