"""Users, passwords, sessions, API keys and sign-in."""
