"""Postino beside its peers, on one machine, in one run, with nothing made faster by being less durable."""
