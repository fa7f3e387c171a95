"""`python -m postino`: the same as the command `postino`."""

from postino.cli import main

if __name__ == "__main__":
    main()
