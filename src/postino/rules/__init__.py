"""Every decision, pure: no input or output, no clock, no chance, no environment."""
