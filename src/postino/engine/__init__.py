"""The engine: takes jobs in, claims them, runs them, settles them, and rescues what others left behind."""
