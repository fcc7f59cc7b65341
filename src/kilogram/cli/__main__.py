"""`python -m kilogram.cli`."""

from kilogram.cli import main

main()
