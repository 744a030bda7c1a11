"""The command line, as ``python -m clew``."""

from clew.cli import main

if __name__ == "__main__":
    main()
