"""No modules in a circle, no function that does not fit on a screen."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kilogram

ROOT = Path(kilogram.__file__).parent
LONGEST = 60  # lines of the body of a function, without signature and docstring


@cache
def modules() -> dict[str, ast.Module]:
    """Every source file, parsed, by the name of its module."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(
            path.read_text()
        )
    return found


def imported(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Modules that a file imports anywhere, also within functions; not those of types alone."""
    types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in types:
            continue
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                yield from {inner if inner in names else node.module} & names


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules each of which imports the next, if there are such; the last one is the first."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle():
    names = set(modules())
    graph = {name: set(imported(tree, names)) - {name} for name, tree in modules().items()}
    assert sum(map(len, graph.values())) > len(graph)  # imports were found
    assert circle(graph) == []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) != []
    tree = ast.parse(
        "def f():\n    from p.q import r\nif TYPE_CHECKING:\n    from p import s\nimport p"
    )
    assert set(imported(tree, {"p", "p.q", "p.s"})) == {"p", "p.q"}


def test_functions_fit_on_a_screen():
    long = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and node.end_lineno - body[0].lineno >= LONGEST:
                    long.append(f"{name}: {node.name}")
    assert long == []
