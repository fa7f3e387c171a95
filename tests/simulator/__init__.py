"""Whole lives of Postino, simulated from one seed: users, operators, failures and strangers in any order."""
