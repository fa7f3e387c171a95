"""Random lives of many jobs, on every store at once, beside a plain model that knows what must happen."""
