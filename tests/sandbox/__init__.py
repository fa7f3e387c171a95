"""The sandbox, asked over real HTTP."""
