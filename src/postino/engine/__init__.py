"""The engine: enqueues, claims, runs and settles jobs, and rescues the jobs of dead workers."""
