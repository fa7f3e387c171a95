"""The networks: one file each, and what each of them takes."""
