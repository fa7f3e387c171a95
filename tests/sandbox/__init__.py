"""The sandbox, called over real HTTP."""
