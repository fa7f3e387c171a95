"""The HTTP API for people and programs. It decides nothing and publishes nothing."""
