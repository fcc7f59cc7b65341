"""`kg accel`: a scikit-learn script with Kilogram's estimators."""

from __future__ import annotations

from typing import Annotated

import typer


def accel(
    arguments: Annotated[
        list[str], typer.Argument(metavar="SCRIPT [ARGUMENTS]", help="As for python.")
    ],
) -> None:
    """Run a scikit-learn script with Kilogram's estimators: kg accel script.py.

    Options come before the script: -m for a module, --only A,B, --exclude A,B, --list, --verbose.
    """
    from kilogram.accel.__main__ import main

    main(arguments, "kg accel")
