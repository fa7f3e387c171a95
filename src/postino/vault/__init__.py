"""Encryption at rest: the key file, encrypted credentials, and keyed digests of secrets."""
