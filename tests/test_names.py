"""One class name means one thing."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import kilogram

ROOT = Path(kilogram.__file__).parent


@cache
def modules() -> dict[str, ast.Module]:
    """Every source file, parsed."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for path in ROOT.rglob("*.py")
    }


def test_every_class_has_a_name_of_its_own():
    found = defaultdict(list)
    for path, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_no_function_takes_a_model_of_unknown_type():
    """A helper that reads or writes attributes of one class is a method or a function of arrays.

    What takes any estimator, as validation and evaluation do, has a type that says so.
    """
    untyped = []
    for path, module in modules().items():
        for node in ast.walk(module):
            if not isinstance(node, ast.FunctionDef) or node.name == "__init__":
                continue
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            untyped += [
                f"{path}: {node.name}"
                for argument in arguments
                if argument.arg in ("model", "me")
                and (argument.annotation is None or ast.unparse(argument.annotation) == "Any")
            ]
    assert untyped == []
