"""A seeded fuzzer over every estimator: a few fits of each here, many with `make fuzz`."""

import os
import subprocess
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest

from kilogram.models.ridge import Ridge
from tests.fuzz import __main__ as runner
from tests.fuzz import cases
from tests.fuzz.__main__ import main
from tests.fuzz.cases import draw_case, put
from tests.fuzz.check import problems
from tests.fuzz.known import is_known
from tests.fuzz.values import VALUES as PARAMETERS
from tests.laws.cases import ESTIMATORS, make

#: Fits of each estimator in the test suite.
FITS = max(int(os.environ.get("KILOGRAM_FUZZ", "0")) // len(ESTIMATORS), 4)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_random_fits(name):
    start = zlib.crc32(name.encode()) % 10**6
    wrong = []
    for seed in range(start, start + FITS):
        case = draw_case(seed, name)
        wrong += [f"{p}\n  {case}" for p in problems(case) if not is_known(name, p)]
    assert not wrong, "\n".join(wrong)


def test_a_case_is_repeated_by_its_seed():
    one, two = draw_case(5), draw_case(5)
    assert (one.name, repr(one.params), one.container) == (
        two.name,
        repr(two.params),
        two.container,
    )
    np.testing.assert_array_equal(one.X, two.X)


def test_every_parameter_is_drawn():
    """A new parameter has a constraint from which values are drawn, or values of its own."""
    objects = {"memory", "tree"}  # a cache, a fitted estimator
    for name, cls in ESTIMATORS.items():
        drawn = cls.parameter_constraints.keys() | PARAMETERS.keys() | objects
        assert make(name).get_params(deep=False).keys() <= drawn, name


def test_findings_are_counted_by_kind_with_an_example(tmp_path, monkeypatch):
    """Processes run side by side; a crash and a problem of one of them are in the summary."""
    defect = "raise SystemExit(3)"  # as a crash looks from outside

    def start(command, **options):
        seed = command[command.index("--seed") + 1]
        code = f"print('#{seed} Ridge'); print('Ridge | off by {seed} | seed {seed}'); {defect}"
        return popen([sys.executable, "-c", code], **options)

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    out = tmp_path / "findings.txt"
    arguments = ["fuzz", "--n", "3", "--seed", "7", "--jobs", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert main() == 1
    text = out.read_text("utf-8")
    assert text.count("off by 7 | seed 7") == 2  # as found, and in the table
    assert "\n3 fits" in text
    assert "3 x Ridge | off by #" in text
    assert "3 x Ridge | crash, status #" in text


@pytest.mark.parametrize(
    ("printed", "finding"), [("#7 Ridge", "Ridge | hang"), ("", "worker | imports or a busy")]
)
def test_a_worker_that_did_not_start_is_no_hanging_fit(printed, finding, monkeypatch):
    def start(command, **options):
        code = f"import time; print('{printed}', flush=True) if '{printed}' else 0; time.sleep(60)"
        return popen([sys.executable, "-c", code], **options)

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(runner, "SILENCE", 1)
    found = runner.Findings()
    runner.run_process(7, 1, None, found, float("inf"))
    assert [line.startswith(finding) for line in found.examples.values()] == [True]


def test_containers_of_missing_libraries_are_left_out(monkeypatch):
    X = np.arange(6.0).reshape(3, 2)
    monkeypatch.setattr(cases, "library", lambda name: None)
    assert set(cases.left_out()) == set(cases.LIBRARIES)
    for container in cases.LIBRARIES:
        assert type(put(X, container)) is np.ndarray
        assert type(cases.put_target(X[:, 0], "series", container)) is np.ndarray


def test_the_checks_find_problems(monkeypatch):
    """Each kind of defect is found in an estimator that has it."""
    drawn = (draw_case(seed, "Ridge") for seed in range(500))
    calm = next(
        c
        for c in drawn
        if c.well_posed and c.valid_params and c.X.shape[1] > 1 and 1 < np.ptp(c.y) < 1e3
    )
    case = replace(calm, container="F", w=None, weights="none")
    assert problems(case) == []
    truth = Ridge.predict

    def leaky(self, X):
        raise RuntimeError("native failure")

    def nan(self, X):
        return truth(self, X) * np.nan

    def order(self, X):
        return truth(self, X) + 1.0 * np.asarray(X).flags.c_contiguous

    def change(self, X):
        X[0, 0] += 1
        return truth(self, X)

    for defect, message in ((leaky, "RuntimeError"), (nan, "NaN"), (order, "memory order")):
        monkeypatch.setattr(Ridge, "predict", defect)
        assert any(message in problem for problem in problems(case))
    monkeypatch.setattr(Ridge, "predict", truth)
    fit = Ridge.fit
    monkeypatch.setattr(Ridge, "fit", lambda self, X, y, **k: (change(fit(self, X, y), X), self)[1])
    assert any("changed its input" in problem for problem in problems(case))
