"""`python -m kilogram`: the command line `kg`."""

from kilogram.cli import main

if __name__ == "__main__":
    main()
