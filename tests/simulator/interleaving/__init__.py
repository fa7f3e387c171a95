"""Concurrent operations on a real PostgreSQL: a seeded scheduler decides which connection takes its next step."""
