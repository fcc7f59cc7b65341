"""The list of mended defects names tests that exist."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
LISTED = re.findall(r"`([\w/]+\.py)::(\w+)`", (TESTS / "hardening.md").read_text("utf-8"))


def test_every_defect_has_a_test():
    rows = [
        line
        for line in (TESTS / "hardening.md").read_text("utf-8").splitlines()
        if line.startswith("|") and line != "| defect | test |" and not line.startswith("|---")
    ]
    assert len(rows) > 60
    assert [row for row in rows if "::" not in row] == []


def test_the_tests_exist():
    defined = {
        file: {
            node.name
            for node in ast.parse((TESTS / file).read_text("utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        for file in {file for file, _ in LISTED}
    }
    assert [(file, name) for file, name in LISTED if name not in defined[file]] == []
