"""``python -m clew.cli`` does what the script ``clew`` does."""

from clew.cli import main

if __name__ == "__main__":
    main(prog_name="clew")
