"""Simulated networks: a real HTTP server that behaves as they do, with every fault at every endpoint."""
