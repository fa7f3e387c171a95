"""Frozen values that every other package shares: jobs, posts, contents, gates, events, outcomes."""
