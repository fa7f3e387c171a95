"""Ways to tell a sleeping worker that there may be work."""
