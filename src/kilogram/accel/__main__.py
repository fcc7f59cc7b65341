"""`python -m kilogram.accel script.py`: run a script with Kilogram's estimators."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from kilogram.accel.patching import NAMES, patch
from kilogram.errors import UserError


def parser(program: str) -> argparse.ArgumentParser:
    """The options before the script; all that follows it belongs to the script."""
    found = argparse.ArgumentParser(
        prog=program,
        description="Run a script or module with Kilogram's estimators under scikit-learn's names.",
    )
    found.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    found.add_argument("--only", metavar="A,B", help="exchange these names only")
    found.add_argument(
        "--exclude", metavar="A,B", default="", help="names that stay scikit-learn's"
    )
    found.add_argument("--list", action="store_true", help="print the names that can be exchanged")
    found.add_argument("--verbose", action="store_true", help="print the names that are exchanged")
    found.add_argument("target", nargs="?", help="script or, after -m, module")
    found.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    return found


def main(arguments: Sequence[str] | None = None, program: str = "python -m kilogram.accel") -> None:
    """Exchange the names, then run the script as `python script.py` would."""
    parse = parser(program)
    given = parse.parse_args(arguments)
    if given.list:
        print("\n".join(sorted(NAMES)))
        return
    if given.target is None:
        parse.error("name a script to run, or a module after -m.")
    if not given.module and not Path(given.target).exists():
        parse.error(f"{given.target}: there is no such file.")
    try:
        names = patch(_split(given.only) if given.only else None, exclude=_split(given.exclude))
    except UserError as error:
        parse.error(str(error))
    if given.verbose:
        print(*(f"kilogram.accel: {name}" for name in names), sep="\n", file=sys.stderr)
    sys.argv = [given.target, *given.arguments]
    try:
        if given.module:
            sys.path.insert(0, "")
            runpy.run_module(given.target, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(given.target).resolve().parent))
            runpy.run_path(given.target, run_name="__main__")
    except Exception as error:
        error.__traceback__ = _of_the_script(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None


def _of_the_script(trace: TracebackType | None) -> TracebackType | None:
    """The frames that python itself would show: those after this file and runpy."""
    ours = {__file__, runpy.run_path.__code__.co_filename}
    while trace and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    return trace


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


if __name__ == "__main__":
    main()
