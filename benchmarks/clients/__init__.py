"""Whoever asks the service: each in a process of its own, so that the server is measured and not its clients."""
