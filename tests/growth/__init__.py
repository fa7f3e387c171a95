"""How the work of a function grows with its input, and inputs that make regular expressions slow."""
