"""Compare Postino with its peers on one machine, in one run, all with durable settings."""
