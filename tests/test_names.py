"""One class name means one thing, and a name says what it is the name of."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import kilogram
from kilogram.registry import PUBLIC

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


# Prepositions, adverbs, pronouns and the like: alone they name neither a thing nor an action. A
# public method may be one that reads with its object: `design.without(rows)`.
FUNCTION_WORDS = re.compile(
    "above|across|again|against|ahead|alike|always|among|apart|around|aside|away|"
    "before|behind|below|beside|between|beyond|both|by|down|each|else|elsewhere|"
    "enough|every|everything|few|fewer|for|from|here|how|in|inside|into|is|it|late|"
    "later|left|less|lost|many|more|most|near|no|nothing|now|off|often|on|once|"
    "one|only|onward|or|other|others|out|outside|over|own|rest|same|seen|settled|"
    "since|so|some|such|that|the|then|there|this|thus|to|together|too|towards|"
    "twice|under|up|very|what|where|which|who|whole|why|with|within|without|yes|yet"
)


def test_no_function_is_named_after_a_function_word_alone():
    found = []
    for path, module in modules().items():
        methods = {
            id(node)
            for kind in ast.walk(module)
            if isinstance(kind, ast.ClassDef)
            for node in kind.body
        }
        found += [
            f"{path}: {node.name}"
            for node in ast.walk(module)
            if isinstance(node, ast.FunctionDef)
            and FUNCTION_WORDS.fullmatch(node.name.strip("_"))
            and not node.name.startswith("__")
            and (node.name.startswith("_") or id(node) not in methods)
        ]
    assert found == []


def test_every_numeric_constant_has_its_meaning_beside_it():
    """What it means or how it was found: behind the number, or in a comment above its block."""
    bare = []
    for path, module in modules().items():
        if path.startswith("textbook/"):  # the numbers of the pages
            continue
        lines = (ROOT / path).read_text().splitlines()
        for node in module.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
                continue
            if not ast.unparse(getattr(node, "target", None) or node.targets[0]).isupper():
                continue  # the state of the module
            above = node.lineno - 2
            while re.fullmatch(r"[A-Z_]+\b.* = .*", lines[above]) and "#" not in lines[above]:
                above -= 1
            if "#" not in lines[node.end_lineno - 1] and not lines[above].startswith("#"):
                bare.append(f"{path}:{node.lineno}")
    assert bare == []


def is_number(value: ast.expr | None) -> bool:
    """Is this an arithmetic expression of numbers alone?"""
    parts = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
    return value is not None and all(
        isinstance(part, parts)
        and (not isinstance(part, ast.Constant) or type(part.value) in (int, float))
        for part in ast.walk(value)
    )


def test_every_public_name_has_a_test_of_its_own():
    """Beside the laws, which run over all estimators: a test that knows what this one computes."""
    tests = "\n".join(
        path.read_text()
        for path in Path(__file__).parent.rglob("test_*.py")
        if not {"laws", "fuzz"} & set(path.parts)
    )
    known = set(re.findall(r"\w+", tests))
    assert sorted(set(PUBLIC) - known) == []
