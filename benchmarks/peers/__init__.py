"""One file for each contestant, all with the same interface: see protocol.py. Each runs in its own environment."""
