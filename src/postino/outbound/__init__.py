"""The way out: one door for every call to somebody else's server, and the check of addresses people gave."""
