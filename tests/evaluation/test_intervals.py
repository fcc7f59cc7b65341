"""Corrected resampled intervals: against the formula, by coverage, and at the edges."""

import numpy as np
import pytest
from scipy import stats

from kilogram.evaluation import (
    accuracy,
    compare,
    corrected_interval,
    no_narrower,
    rows_error,
)


def test_agrees_with_the_formula_written_out():
    s = [0.8, 0.7, 0.9, 0.75, 0.85]
    found = corrected_interval(s, 80, 20, confidence=0.9)
    half = stats.t.ppf(0.95, 4) * np.sqrt((1 / 5 + 20 / 80) * np.var(s, ddof=1))
    assert (found.low, found.mean, found.high) == pytest.approx((0.8 - half, 0.8, 0.8 + half))
    assert 0.8 in found
    assert found.clipped(high=0.82).high == 0.82


def test_rounds_on_the_same_rows_have_the_freedom_of_one():
    s = np.random.default_rng(0).normal(size=15)
    one, all_folds = (corrected_interval(s, 80, 20, degrees=k) for k in (4, None))
    ratio = stats.t.ppf(0.975, 4) / stats.t.ppf(0.975, 14)
    assert one.high - one.low == pytest.approx(ratio * (all_folds.high - all_folds.low))
    assert one.mean == all_folds.mean
    for wrong in (0, 15):
        with pytest.raises(ValueError, match=r"degrees must be an integer in \[1, 14\]"):
            corrected_interval(s, 80, 20, degrees=wrong)


def test_covers_the_true_score_where_the_plain_interval_does_not():
    """Mean of y by 10-fold CV: any two folds share 8/9 of their training rows."""
    rng = np.random.default_rng(0)
    corrected = plain = 0
    for _ in range(400):
        y = rng.normal(size=50)
        folds = np.array_split(rng.permutation(50), 10)
        scores = [np.mean((y[f] - np.delete(y, f).mean()) ** 2) for f in folds]
        corrected += 1 + 1 / 45 in corrected_interval(scores, 45, 5)
        plain += 1 + 1 / 45 in corrected_interval(scores, 1e12, 5)
    assert corrected > plain
    assert corrected / 400 > 0.93


def test_comparison_calls_ties_ties():
    rng = np.random.default_rng(1)
    base = rng.normal(0.8, 0.05, size=10)
    noise = rng.normal(0, 0.01, size=10)
    assert compare(base + noise, base, 90, 10).verdict == "tie"
    gain = compare(base + 0.1 + noise, base, 90, 10)
    assert gain.verdict == "better"
    assert gain.p_value < 1e-3
    assert compare(base - 0.1 + noise, base, 90, 10).verdict == "worse"
    assert compare(base + 0.1 + noise, base, 90, 10, margin=0.2).verdict == "tie"


def test_equal_scores_are_a_tie_without_dividing_by_zero():
    same = compare([0.5, 0.5], [0.5, 0.5], 10, 5)
    assert (same.verdict, same.p_value) == ("tie", 1.0)
    assert compare([0.75, 0.75], [0.5, 0.5], 10, 5).p_value == 0.0


@pytest.mark.parametrize(
    ("scores", "rows", "word"),
    [
        ([0.5], (10, 5), "at least 2 folds"),
        ([0.5, np.nan], (10, 5), "finite"),
        ([0.5, 0.6], (0, 5), "positive"),
    ],
)
def test_bad_input(scores, rows, word):
    with pytest.raises(ValueError, match=word):
        corrected_interval(scores, *rows)


def test_bad_comparison():
    with pytest.raises(ValueError, match="same folds"):
        compare([0.5, 0.6], [0.5], 10, 5)
    with pytest.raises(ValueError, match="margin"):
        compare([0.5, 0.6], [0.5, 0.6], 10, 5, margin=-1)
    with pytest.raises(ValueError, match="confidence"):
        corrected_interval([0.5, 0.6], 10, 5, confidence=95)


def test_the_error_of_rows_is_the_binomial_one():
    rng = np.random.default_rng(2)
    y, f = np.zeros(1000), (rng.uniform(size=1000) < 0.3).astype(float)
    a = accuracy(y, f)
    assert rows_error(accuracy, y, f) == pytest.approx(np.sqrt(a * (1 - a) / 1000), rel=0.25)
    assert rows_error(accuracy, y[:20], f[:20], groups=50) > 0
    with pytest.raises(ValueError, match="at least 3"):
        rows_error(accuracy, [0, 1], [0, 1])


def test_folds_that_agree_do_not_make_certain():
    """Stratified folds of a constant answer have no spread at all; its score still has an error."""
    certain = corrected_interval([0.65, 0.65, 0.65], 80, 20)
    assert certain.low == certain.high
    wider = no_narrower(certain, 0.02)
    assert wider.high - wider.mean == pytest.approx(1.96 * 0.02, rel=1e-3)
    assert no_narrower(wider, 0.001) == wider
