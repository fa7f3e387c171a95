"""Clients of the service, each in its own process, so that they do not slow down the server."""
