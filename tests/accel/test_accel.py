"""scikit-learn's names exchanged for Kilogram's, and scripts run so."""

import inspect
import os
import pickle
import subprocess
import sys
from importlib import import_module

import pytest
from sklearn.utils import all_estimators

import kilogram as kg
from kilogram import accel
from kilogram.accel.__main__ import main
from kilogram.accel.patching import NAMES, SHARED
from kilogram.errors import UserError
from kilogram.registry import PUBLIC

PEERS = dict(all_estimators())

SCRIPT = """
import sys
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(make_column_transformer((StandardScaler(), slice(0, 20))), PCA(5), SVC())
search = GridSearchCV(model, {"svc__C": [0.1, 1.0]}, n_jobs=2).fit(X, y)
votes = VotingClassifier([("a", LogisticRegression(C=0.1)), ("b", RandomForestClassifier(20))])
bags = BaggingClassifier(SVC(), n_estimators=3)
scores = cross_val_score(make_pipeline(StandardScaler(), votes), X, y, cv=3)
assert min(search.best_score_, scores.mean(), bags.fit(X, y).score(X, y)) > 0.9
used = PCA, SVC, RandomForestClassifier, VotingClassifier
print(*(cls.__module__.split(".")[0] for cls in used))
print(sys.argv[1:], __name__)
"""


@pytest.fixture(autouse=True)
def _restored():
    yield
    accel.unpatch()


def run(*arguments, cwd):
    """`python -m kilogram.accel` as a user runs it."""
    return subprocess.run(
        [sys.executable, "-m", "kilogram.accel", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def test_every_class_of_both_libraries_is_exchanged():
    shared = {name for name in PUBLIC if name in PEERS and inspect.isclass(getattr(kg, name))}
    assert {name for name in NAMES if inspect.isclass(getattr(kg, name))} == shared
    for where, names in SHARED.items():
        for name in names:
            found = getattr(import_module(where), name)
            if inspect.isclass(found):
                assert found is PEERS[name]


def test_functions_take_every_argument_of_scikit_learn():
    for where, names in SHARED.items():
        for name in names:
            if not inspect.isclass(getattr(kg, name)):
                arguments = inspect.signature(getattr(import_module(where), name)).parameters
                theirs = {k for k, v in arguments.items() if v.kind != v.VAR_KEYWORD}
                assert theirs <= set(inspect.signature(getattr(kg, name)).parameters), name


def test_names_are_exchanged_and_put_back():
    from sklearn import linear_model, svm

    before = linear_model.Ridge, svm.SVC
    assert "sklearn.svm.SVC" in accel.patch()
    assert (linear_model.Ridge, svm.SVC) == (kg.Ridge, kg.SVC)
    assert accel.patch() == accel.replaced_names()  # a second call changes nothing
    accel.unpatch(["Ridge"])
    assert (linear_model.Ridge, svm.SVC) == (before[0], kg.SVC)
    accel.unpatch()
    assert (linear_model.Ridge, svm.SVC) == before
    assert accel.replaced_names() == ()


def test_some_names_only():
    from sklearn import cluster, svm

    assert accel.patch(["KMeans"]) == ("sklearn.cluster.KMeans",)
    assert svm.SVC is PEERS["SVC"]
    with accel.patched(exclude=["SVR"]) as names:
        assert "sklearn.svm.SVR" not in names
        assert svm.SVC is kg.SVC
    assert svm.SVC is PEERS["SVC"]
    assert cluster.KMeans is kg.KMeans  # exchanged before the block
    with pytest.raises(UserError, match="stand in for DBSCAN"):
        accel.patch(["DBSCAN"])
    with pytest.raises(UserError, match="iterable of names"):
        accel.patch("SVC")


def test_models_pickled_by_scikit_learn_stay_its_own():
    stored = pickle.dumps(PEERS["Ridge"](alpha=2.0))
    accel.patch()
    assert type(pickle.loads(stored)) is PEERS["Ridge"]
    assert type(pickle.loads(pickle.dumps(kg.Ridge()))) is kg.Ridge


def test_a_script_runs_unchanged(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("script.py", "--depth", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "kilogram kilogram kilogram sklearn",
        "['--depth', '3'] __main__",
    ]


def test_scikit_learns_own_modules_keep_their_classes(tmp_path):
    (tmp_path / "effects.py").write_text(
        "from sklearn.datasets import load_diabetes\n"
        "from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor\n"
        "from sklearn.inspection import partial_dependence\n"
        "X, y = load_diabetes(return_X_y=True)\n"
        "for cls in (RandomForestRegressor, HistGradientBoostingRegressor):\n"
        "    model = cls(random_state=0).fit(X[:150], y[:150])\n"
        "    print(partial_dependence(model, X[:150], [2])['average'].shape, cls.__module__[:8])\n"
    )
    done = run("effects.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("(1, ") and line.endswith("kilogram") for line in lines)


def test_modules_options_and_exit_codes(tmp_path):
    (tmp_path / "tool.py").write_text(
        "import sys\nfrom sklearn.cluster import KMeans\nfrom sklearn.svm import SVC\n"
        "print(KMeans.__module__, SVC.__module__)\nsys.exit(3)\n"
    )
    done = run("--only", "KMeans", "--verbose", "-m", "tool", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout.split() == [kg.KMeans.__module__, PEERS["SVC"].__module__]
    assert done.stderr.split() == ["kilogram.accel:", "sklearn.cluster.KMeans"]


@pytest.mark.parametrize("source", ["def f():\n    return 1 / 0\nf()\n", "1 +\n"])
def test_a_failing_script_shows_its_own_frames(tmp_path, source):
    """The frames of kg, typer and runpy stood before those of the script."""
    (tmp_path / "tool.py").write_text(source)
    by_python = subprocess.run(
        [sys.executable, "tool.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    done = run("tool.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.replace(str(tmp_path) + os.sep, "") == by_python.stderr.replace(
        str(tmp_path) + os.sep, ""
    )


def test_errors_are_one_sentence(tmp_path, capsys):
    (tmp_path / "tool.py").write_text("raise AssertionError")
    for arguments, words in (
        (["missing.py"], "no such file"),
        ([], "name a script"),
        (["--only", "DBSCAN", str(tmp_path / "tool.py")], "stand in for DBSCAN"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert words in capsys.readouterr().err


def test_the_command_line_has_it(tmp_path):
    (tmp_path / "s.py").write_text(
        "import sys\nfrom sklearn.svm import SVC\nprint(SVC.__module__, sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-m", "kilogram", "accel", "--exclude", "SVR", "s.py", "-v", "--list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == f"{kg.SVC.__module__} ['-v', '--list']", done.stderr
