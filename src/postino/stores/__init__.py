"""Databases that keep jobs: one set of operations, one driver for each database, and the SQL that both share."""
