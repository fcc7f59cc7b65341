"""The audit: planted leaks are all found and stop the run, clean tables raise no alarm."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn import datasets

import kilogram as kg
from kilogram.base.budget import Budget
from kilogram.kitchen import KitchenError
from kilogram.kitchen.audit import CODES, audit
from kilogram.kitchen.audit.checks_preprocessing import fraction_between_neighbours
from kilogram.kitchen.cook import BUNDLED, BUNDLED_TARGET

N = 400


def clean(rows=N, seed=0):
    """Columns that each tell a part of y, and a class made of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    y = X @ [1.0, 0.8, 0.5, 0.0] + rng.normal(size=rows)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["word"] = rng.choice(["red", "green", "blue"], rows)
    frame["y"] = y
    frame["label"] = np.where(y > 0, "yes", "no")
    return frame


def codes(found, severity="serious"):
    return {finding.code for finding in found.findings if finding.severity == severity}


@pytest.mark.parametrize("target", ["y", "label"])
@pytest.mark.parametrize("seed", range(3))
def test_clean_tables_raise_no_serious_alarm(target, seed):
    frame = clean(seed=seed).drop(columns="label" if target == "y" else "y")
    assert audit(frame, target, seed=seed).serious == ()


@pytest.mark.parametrize("target", [BUNDLED_TARGET, "Species", "Sex", "Island"])
def test_the_bundled_table_is_clean(target):
    found = audit(BUNDLED, target)
    assert found.serious == ()
    assert {f.code for f in found.findings} >= {"KG-A01", "KG-A02", "KG-A06"}


def numbers():
    return clean().drop(columns="label")


def labels():
    return clean().drop(columns="y")


def with_copy(frame, target):
    return frame.assign(leak=frame[target])


LEAKS = {
    "copied number": (with_copy(numbers(), "y"), "y", "KG-A07"),
    "copied class": (with_copy(labels(), "label"), "label", "KG-A07"),
    "class under other names": (
        labels().assign(leak=lambda f: f["label"].map({"yes": 17, "no": 3})), "label", "KG-A07"),
    "number on another scale": (numbers().assign(leak=lambda f: np.exp(f["y"])), "y", "KG-A07"),
    "noisy copy": (
        numbers().assign(
            leak=lambda f: f["y"] + 0.2 * np.random.default_rng(1).normal(size=N)), "y", "KG-A07"),
    "gaps where the answer is no": (
        labels().assign(closed=lambda f: f["a"].where(f["label"] == "yes")), "label", "KG-A08"),
    "half the table twice": (pd.concat([numbers(), numbers()[: N // 2]]), "y", "KG-A04"),
    "a sixth of the table twice": (pd.concat([labels(), labels()[: N // 6]]), "label", "KG-A04"),
    "copies with new identifiers": (
        pd.concat([numbers(), numbers()[:100]]).assign(id=np.arange(500)), "y", "KG-A04"),
    "copies with a little noise": (
        pd.concat([numbers(), numbers()[:150]])
        .assign(a=lambda f: f["a"] + 1e-6 * np.random.default_rng(2).normal(size=len(f))),
        "y", "KG-A05"),
    "the answer of tomorrow": (numbers().assign(next=lambda f: f["y"].shift(-1)), "y", "KG-A11"),
    "the class of three rows later": (
        labels().assign(later=lambda f: f["label"].shift(-3)), "label", "KG-A11"),
}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found_and_stop_the_run(leak):
    frame, target, code = LEAKS[leak]
    found = audit(frame, target)
    assert code in codes(found)
    with pytest.raises(KitchenError, match=code):
        found.refuse()
    assert code not in {f.code for f in audit(frame, target, accept=[code.lower()]).serious}


def encoded(frame, target, m=0.0, digits=None):
    """A column of words replaced by the mean answer of each word, worked out on all rows."""
    rng = np.random.default_rng(5)
    word = rng.integers(0, 12, len(frame)) ** 2 // 9
    y = frame[target] if target == "y" else (frame[target] == "yes").astype(float)
    mean = y.groupby(word).transform("sum") + m * y.mean()
    code = mean / (y.groupby(word).transform("count") + m)
    return frame.assign(code=code if digits is None else code.round(digits))


def oversampled(frame):
    """Rows of the smaller class made up between two of its rows, until the classes are level."""
    rng = np.random.default_rng(3)
    frame = frame.drop(columns="word")
    few = frame[(frame["label"] == "yes") & (frame["a"] > 0.8)]
    many = frame[frame["label"] == "no"]
    X = few[list("abcd")].to_numpy()
    a, b = rng.integers(0, len(X), (2, len(many) - len(X)))
    near = np.array([np.argsort(np.linalg.norm(X - X[i], axis=1))[1 + j % 5]
                     for i, j in zip(a, b, strict=True)])  # fmt: skip
    made = X[a] + rng.uniform(size=(len(a), 1)) * (X[near] - X[a])
    new = pd.DataFrame(np.round(made, 6), columns=list("abcd")).assign(label="yes")
    return pd.concat([few, many, new], ignore_index=True)


@pytest.mark.parametrize("m", [0.0, 10.0])
@pytest.mark.parametrize("target", ["y", "label"])
def test_targets_encoded_before_the_split_are_found(target, m):
    frame = encoded(numbers() if target == "y" else labels(), target, m, digits=7)
    (finding,) = audit(frame, target).of("KG-A17")
    assert (finding.severity, finding.columns) == ("serious", ("code",))
    with pytest.raises(KitchenError, match="KG-A17"):
        kg.cook(frame, target, folds=2)


def test_rows_made_up_before_the_split_are_found():
    found = audit(oversampled(labels()), "label")
    (finding,) = found.of("KG-A17")
    assert finding.severity == "serious"
    assert "'yes'" in finding.evidence
    assert finding.numbers["fraction"] > 0.4


def test_rounded_measurements_lie_on_lines_by_chance():
    """Hand spans and ages with one decimal: 15 % of the rows lie between two others."""
    rng = np.random.default_rng(0)
    right = np.round(rng.normal(19, 3, 400) * 5) / 5
    left = np.round((right + rng.normal(0, 0.5, 400)) * 5) / 5
    age = np.round(rng.normal(40, 6, 400) * 2) / 2
    measured = np.column_stack([right, left, age])[:200]
    assert fraction_between_neighbours(measured, rng) < 0.02
    i = rng.integers(0, 200, 60)
    j = np.argsort(cdist(measured[i], measured), axis=1)[:, 5]
    made = measured[i] + rng.uniform(size=(60, 1)) * (measured[j] - measured[i])
    assert fraction_between_neighbours(np.vstack([measured, made]), rng) > 0.1


def test_columns_scaled_before_the_split_are_reported():
    frame = numbers()
    for name in "abc":
        frame[name] = (frame[name] - frame[name].mean()) / frame[name].std()
    (finding,) = audit(frame.round(6), "y").of("KG-A17")
    assert (finding.severity, finding.columns) == ("warning", ("a", "b", "c"))


@pytest.mark.parametrize("load", ["iris", "wine", "breast_cancer", "diabetes", "digits"])
def test_known_tables_are_not_taken_for_prepared_ones(load):
    X, y = getattr(datasets, f"load_{load}")(return_X_y=True, as_frame=True)
    found = audit(X.assign(target=y), "target").of("KG-A17")
    # the columns of that one are of length 1 and mean 0, all of them
    assert [f.severity for f in found] == (["warning"] if load == "diabetes" else [])


def test_an_identifier_that_predicts_is_left_out_and_reported():
    frame = numbers().sort_values("y").assign(id=range(7, 7 + N))
    (finding,) = audit(frame, "y").of("KG-A06")
    assert finding.severity == "warning"
    assert finding.numbers["skill"] > 0.9
    (finding,) = audit(numbers().assign(id=range(7, 7 + N)), "y").of("KG-A06")
    assert finding.severity == "note"
    forced = audit(frame, "y", numeric=["id"])
    assert "KG-A07" in codes(forced)


def groups(seed=0):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(80), 5)
    own = 3 * rng.normal(size=80)
    frame = clean(seed=seed).drop(columns="label")
    return frame.assign(patient=who, y=frame["y"] + own[who])


def test_groups_are_serious_until_they_are_named():
    found = audit(groups(), "y")
    assert "KG-A09" in codes(found)
    assert {c.name: c.kind for c in found.columns}["patient"] == "group"
    reference = audit(groups(), "y", group="patient")
    assert "KG-A09" in codes(reference, "note")
    harmless = groups().assign(y=clean()["y"])
    assert "KG-A09" not in codes(audit(harmless, "y"))


def days(rows=N):
    return pd.date_range("2020-01-01", periods=rows, freq="D")


def test_time_is_serious_when_neighbours_are_alike():
    rng = np.random.default_rng(0)
    walk = numbers().assign(day=days(), y=np.cumsum(rng.normal(size=N)))
    assert "KG-A10" in codes(audit(walk, "y"))
    assert "KG-A10" in codes(audit(walk.sample(frac=1, random_state=0), "y"))
    assert "KG-A10" in codes(audit(walk, "y", time="day"), "note")
    assert "KG-A10" in codes(audit(numbers().assign(day=days()), "y"), "warning")


def test_a_date_after_the_time_of_the_row_is_from_the_future():
    rng = np.random.default_rng(0)
    later = days() + pd.to_timedelta(rng.integers(3, 40, N), unit="D")
    frame = numbers().assign(opened=days(), closed=later)
    assert "KG-A11" in codes(audit(frame, "y", time="opened"))
    assert "KG-A11" in codes(audit(frame, "y"), "warning")
    earlier = frame.rename(columns={"opened": "closed", "closed": "opened"})
    assert not audit(earlier, "y", time="opened").of("KG-A11")


def test_a_lagged_target_is_fair():
    frame = numbers().assign(yesterday=lambda f: f["y"].shift(1))
    assert not audit(frame, "y").of("KG-A11")


def test_gaps_constants_copies_and_small_things():
    frame = labels().assign(still=1, empty=None, double=lambda f: 2 * f["a"] + 1)
    frame["b"] = frame["b"].where(np.arange(N) % 3 == 0)
    frame.loc[:3, "label"] = "seldom"
    frame.loc[4:13, "label"] = "rare"
    found = audit(frame, "label")
    by_code = {f.code: f for f in found.findings}
    assert by_code["KG-A01"].severity == "warning"
    assert by_code["KG-A01"].numbers["b"] == 266
    assert set(by_code["KG-A02"].columns) == {"still", "empty"}
    assert set(by_code["KG-A03"].columns) == {"a", "double"}
    assert by_code["KG-A12"].numbers["rare"] == 10
    assert by_code["KG-A13"].numbers == {"seldom": 4}
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 80))).rename(columns=str)
    assert audit(wide.assign(y=wide["0"] + wide["1"]), "y").of("KG-A14")


def test_rows_of_few_values_repeat_by_chance():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (500, 4)), columns=list("abcd")).astype(str)
    frame["y"] = rng.choice(["p", "q"], 500)
    (finding,) = audit(frame, "y").of("KG-A04")
    assert finding.severity == "note"
    assert "by chance" in finding.evidence


def test_two_tables_are_compared():
    ours = numbers()
    assert not audit(ours, "y", against=clean(seed=9)).of("KG-A15")
    other = clean(seed=9).assign(a=lambda f: f["a"] + 2).drop(columns="d")
    other["word"] = other["word"].replace("red", "violet")
    other["b"] = other["b"].where(np.arange(N) % 2 == 0)
    found = audit(ours, "y", against=other)
    moved = {column for finding in found.of("KG-A15") for column in finding.columns}
    assert moved == {"a", "word", "b", "d"}
    assert audit(ours, "y", against=pd.concat([clean(seed=9), ours[:100]])).of("KG-A16")
    assert not audit(ours, "y", against=clean(seed=9)).of("KG-A16")


def test_without_a_target_the_inputs_are_looked_at():
    found = kg.audit(pd.concat([numbers(), numbers()]))
    assert codes(found) == {"KG-A04"}
    assert found.target is None


def test_every_finding_says_what_why_and_what_to_do():
    for code, about in CODES.items():
        assert code.startswith("KG-A")
        assert len(about.title) > 5
        assert about.why.endswith(".")
        assert about.do.endswith(".")
    found = audit(*LEAKS["copied class"][:2])
    reference = json.loads(found.as_json())
    assert reference["serious"] == 1
    assert reference["findings"][0]["code"] == "KG-A07"
    assert {"evidence", "why", "do", "numbers"} <= set(reference["findings"][0])
    text = str(found)
    assert "KG-A07 serious" in text
    assert "under another name" in text
    assert "kg cook would stop" in text


def test_codes_that_do_not_exist():
    with pytest.raises(KitchenError, match="no finding 'KG-A99'"):
        audit(numbers(), "y", accept=["KG-A99"])


def test_long_tables_are_looked_at_in_part():
    frame = clean(30_000).drop(columns="label")
    found = audit(with_copy(frame, "y"), "y")
    assert found.sampled_rows == 20_000
    assert "KG-A07" in codes(found)
    assert "random sample" in str(found)


def test_when_the_time_is_up_what_was_not_checked_is_reported(monkeypatch):
    """Columns are counted instead of seconds: the limit ends the third check in its middle."""
    whole = audit(with_copy(numbers(), "y"), "y")
    assert whole.not_checked == ()
    looks = iter([False] * 6)
    monkeypatch.setattr(Budget, "expired", property(lambda self: next(looks, True)))
    found = audit(with_copy(numbers(), "y"), "y")
    assert set(found.not_checked) == set(CODES) - {"KG-A01", "KG-A02", "KG-A15", "KG-A16"}
    assert set(codes(found)) <= set(codes(whole))
    assert "time limit left out" in str(found)
    assert found.as_dict()["not_checked"] == list(found.not_checked)
    with pytest.raises(KitchenError, match="max_time must be a float greater than 0"):
        audit(numbers(), "y", max_time=-1.0)


def test_the_best_of_several_strong_columns_is_no_leak():
    """Two petal measurements tell irises apart nearly alone: neither is the species itself."""
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(2).permutation(len(y))[:75]
    found = audit(X.iloc[rows].assign(kind=y.iloc[rows].map("kind {}".format)), "kind")
    assert not found.serious
    for one in found.of("KG-A07"):  # the next best column is the best of all others
        assert one.numbers["next_best"] > 0.8
