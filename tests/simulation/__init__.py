"""Random histories of many jobs, on every store at once, beside a plain model of what must happen."""
