"""One class name means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import kilogram

ROOT = Path(kilogram.__file__).parent


def test_every_class_has_a_name_of_its_own():
    found = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
