"""Accounts, contents, posts and imports, the keys of their credentials, and the handler that publishes."""
