"""ONNX graphs predict as the models do, with gaps, new words and odd scales, or are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import kilogram as kg
from kilogram.cli import app
from kilogram.kitchen import KitchenError
from kilogram.kitchen.export import export_estimator, export_model
from kilogram.kitchen.export.columns import cells, features
from kilogram.kitchen.export.estimators import scores
from kilogram.kitchen.export.graph import Graph
from kilogram.kitchen.export.onnx_model import run
from kilogram.kitchen.features import FeatureSettings, featurise
from kilogram.kitchen.features.columns import Column, Layout
from kilogram.kitchen.recipes.recipe import fitted_pipeline
from tests.kitchen.conftest import classes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) + 5.0
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=120)
TWO = (np.median(Y) < Y).astype(int)
THREE = np.array(["p", "q", "r"])[np.digitize(Y, np.quantile(Y, [0.3, 0.6]))]
NUMBERS = {
    "ridge": kg.Ridge(),
    "boosting": kg.HistGradientBoostingRegressor(max_iter=10),
    "adaboost": kg.AdaBoostRegressor(n_estimators=10, random_state=0),
    "adaboost of lines": kg.AdaBoostRegressor(kg.Ridge(), n_estimators=5, random_state=0),
    "shape functions": kg.AdditiveBoostingRegressor(max_iter=20, n_bags=2, random_state=0),
    "log link, shape functions": kg.AdditiveBoostingRegressor("poisson", max_iter=20, n_bags=2,
                                                              random_state=0),
    "neighbours": kg.KNeighborsRegressor(),
    "neighbours by distance": kg.KNeighborsRegressor(3, weights="distance"),
    "city-block neighbours": kg.KNeighborsRegressor(3, weights="distance", metric="manhattan"),
    "tree": kg.DecisionTreeRegressor(max_depth=4),
    "forest": kg.RandomForestRegressor(5, random_state=0),
    "random cuts": kg.ExtraTreesRegressor(5, random_state=0),
    "boosted counts": kg.HistGradientBoostingRegressor("poisson", max_iter=10),
    "lasso": kg.Lasso(0.1),
    "least angles": kg.LassoLars(0.1),
    "pursuit": kg.OrthogonalMatchingPursuit(n_nonzero_coefs=2),
    "groups": kg.GroupLasso([1, 2], alpha=0.1),
    "all breakpoints": kg.Lars(n_nonzero_coefs=2),
    "MCP": kg.ConcaveRegressor(0.1, penalty="mcp"),
    "SCAD": kg.ConcaveRegressor(0.1, penalty="scad"),
    "stochastic steps": kg.OnlineLasso(0.1, random_state=0),
    "MM": kg.RobustRegressor(random_state=0),
    "least trimmed squares": kg.LeastTrimmedSquares(random_state=0),
    "Theil-Sen": kg.TheilSenRegressor(random_state=0),
    "log link": kg.PoissonRegressor(alpha=0.1),
    "log link, power 1.5": kg.TweedieRegressor(power=1.5, alpha=0.1),
    "robust lasso": kg.PenalizedRegressor("huber", alpha=0.1),
    "log link, sparse": kg.PenalizedRegressor("gamma", alpha=0.1),
    "identity": kg.TweedieRegressor(alpha=0.1),
    "least squares": kg.LinearRegression(),
    "kernel": kg.KernelRidge(0.1, kernel=kg.Gaussian(1.5), fit_intercept=True),
    "linear kernel": kg.KernelRidge(0.1, kernel="linear"),
    "kernels": kg.KernelRidge(1.0, kernel=kg.Polynomial(2) + 2.0 * kg.Gaussian(2.0)),
    "fourier": kg.KernelRidge(0.1, kernel=kg.Gaussian(2.0), approximation="fourier",
                              n_components=30, random_state=0),
    "nystroem": kg.KernelRidge(0.1, kernel=kg.Gaussian(2.0), approximation="nystroem",
                               n_components=30, random_state=0),
    "kernel cv": kg.KernelRidgeCV([0.1, 1.0], kernel=kg.Gaussian(2.0)),
    "svr": kg.SVR(kernel="rbf", gamma=0.2),
    "process": kg.GaussianProcessRegressor(kernel=kg.Gaussian(2.0), alpha=0.1, optimizer=None),
    "scaled process": kg.GaussianProcessRegressor(kernel=2.0 * kg.Gaussian(2.0), alpha=0.1,
                                                  optimizer=None, normalize_y=True),
    "landmarks": make_pipeline(StandardScaler(), kg.Nystroem(kg.Gaussian(2.0), 20, random_state=0),
                               kg.Ridge()),
    "cosines": make_pipeline(kg.FourierFeatures(kg.Gaussian(2.0), n_components=40, random_state=0),
                             kg.Ridge()),
    "polynomials": make_pipeline(StandardScaler(), kg.PolynomialFeatures(3), kg.Ridge()),
    "interactions": make_pipeline(kg.PolynomialFeatures(2, interaction_only=True,
                                                        include_bias=False), kg.Ridge()),
    "components": make_pipeline(kg.PCA(2, whiten=True), kg.Ridge()),
    "network": kg.MLPRegressor(hidden_layer_sizes=(6, 5), activation="tanh", solver="lbfgs",
                               alpha=1.0, max_iter=5000, random_state=0),
    "scaled target": TransformedTargetRegressor(
        kg.MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", alpha=1.0, max_iter=2000,
                        random_state=0),
        transformer=StandardScaler()),
    "linear network": kg.MLPRegressor(hidden_layer_sizes=(4,), activation="identity",
                                      fit_intercept=False, solver="lbfgs", random_state=0),
}  # fmt: skip
CLASSES = {
    "logistic": kg.LogisticRegression(),
    "boosting": kg.HistGradientBoostingClassifier(max_iter=10),
    "adaboost": kg.AdaBoostClassifier(n_estimators=15),
    "adaboost of bayes": kg.AdaBoostClassifier(kg.GaussianNB(), n_estimators=4),
    "shape functions": kg.AdditiveBoostingClassifier(max_iter=20, n_bags=2, random_state=0),
    "neighbours": kg.KNeighborsClassifier(),
    "neighbours by distance": kg.KNeighborsClassifier(4, weights="distance"),
    "tree": kg.DecisionTreeClassifier(max_depth=4),
    "forest": kg.RandomForestClassifier(5, random_state=0),
    "random cuts": kg.ExtraTreesClassifier(5, random_state=0),
    "sparse logistic": kg.PenalizedClassifier(alpha=0.02),
    "sparse margins": kg.PenalizedClassifier("squared_hinge", alpha=0.02),
    "lda": kg.LinearDiscriminantAnalysis(),
    "qda": kg.QuadraticDiscriminantAnalysis(),
    "fisher": kg.FisherDiscriminant(),
    "svc": kg.SVC(gamma=0.2),
    "linear svc": kg.LinearSVC(),
    "bayes": kg.GaussianNB(),
    "yes and no": kg.BernoulliNB(binarize=5.0),
    "counts": kg.MultinomialNB(),
    "complement": kg.ComplementNB(),
    "kernel fisher": kg.KernelFisherDiscriminant(kernel=kg.Gaussian(2.0), alpha=0.01),
    "kernel fisher, features": kg.KernelFisherDiscriminant(
        kernel=kg.Gaussian(2.0), alpha=0.01, approximation="nystroem", n_features=20,
        random_state=0),
    "svc against rest": kg.SVC(gamma=0.2, multi_class="ovr"),
    "network": kg.MLPClassifier((6,), solver="lbfgs", alpha=1.0, random_state=0, max_iter=1000),
    "sigmoids": kg.MLPClassifier((6,), activation="logistic", solver="lbfgs", alpha=1.0,
                                 random_state=0, max_iter=1000),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    model = NUMBERS[name].fit(X, np.exp(0.1 * Y) if name.startswith("log link") else Y)
    found = run(export_estimator(model, X, dtype=np.float64), {"X": X})
    assert found["prediction"][:, 0] == pytest.approx(model.predict(X), abs=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        kg.ElasticNet(0.1), kg.HuberRegressor(), kg.MultiTaskLasso(0.01),
        kg.OrthogonalMatchingPursuit(), kg.LeastTrimmedSquares(random_state=0),
        kg.RANSACRegressor(random_state=0), kg.QuantileRegressor(alpha=100.0),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_sparse_and_robust_regression_in_single_precision(model):
    """The quantile predicts the median everywhere: its predictions do not vary."""
    y = np.column_stack([Y, -Y]) if isinstance(model, kg.MultiTaskLasso) else Y
    expected = model.fit(X, y).predict(X).reshape(len(X), -1)
    found = run(export_estimator(model, X), {"X": X.astype(np.float32)})["prediction"]
    np.testing.assert_allclose(found, expected, atol=1e-5 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", CLASSES)
def test_classes(name, y):
    model = CLASSES[name].fit(X, y)
    found = run(export_estimator(model, X), {"X": X.astype(np.float32)})
    assert np.mean(found["prediction"] == model.predict(X)) > 0.99
    if "probabilities" in found:
        assert found["probabilities"] == pytest.approx(model.predict_proba(X), abs=1e-4)


def test_a_process_of_two_classes_and_of_more():
    model = kg.GaussianProcessClassifier(kg.Gaussian(2.0), optimizer=None).fit(X, TWO)
    found = run(export_estimator(model, X), {"X": X.astype(np.float32)})
    assert np.mean(found["prediction"] == model.predict(X)) > 0.99
    model = kg.GaussianProcessClassifier(kg.Gaussian(2.0), optimizer=None).fit(X, THREE)
    with pytest.raises(KitchenError, match="depends on variances"):
        export_estimator(model, X)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_neighbours_of_new_rows(metric, weights):
    new = np.concatenate([X + 0.05, X[:5]])
    targets = np.column_stack([Y, -Y])
    model = kg.KNeighborsRegressor(4, weights=weights, metric=metric).fit(X, targets)
    found = run(export_estimator(model, new, dtype=np.float64), {"X": new})["prediction"]
    assert found == pytest.approx(model.predict(new), abs=1e-9)
    model = kg.KNeighborsClassifier(4, weights=weights, metric=metric).fit(X, THREE)
    found = run(export_estimator(model, new, dtype=np.float64), {"X": new})["probabilities"]
    assert found == pytest.approx(model.predict_proba(new), abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        kg.KNeighborsClassifier(weights=np.exp), kg.KNeighborsClassifier(metric="cosine"),
        kg.RadiusNeighborsClassifier(5.0, metric="chebyshev", outlier_label=0),
    ],
    ids=["weights", "metric", "radius"],
)  # fmt: skip
def test_neighbours_without_a_graph(model):
    with pytest.raises(KitchenError, match="cannot be written as ONNX"):
        export_estimator(model.fit(X.astype(int), TWO), X)


def test_missing_cells_go_down_trees_and_targets_may_be_several():
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    model = kg.RandomForestRegressor(4, random_state=0).fit(gaps, np.column_stack([Y, -Y]))
    found = run(export_estimator(model, gaps, dtype=np.float64), {"X": gaps})["prediction"]
    assert found == pytest.approx(model.predict(gaps), abs=1e-6)


@pytest.mark.parametrize("name", ["bayes", "yes and no"])
def test_missing_cells_say_nothing_to_naive_bayes(name):
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    model = CLASSES[name].fit(gaps, THREE)
    found = run(export_estimator(model, gaps), {"X": gaps.astype(np.float32)})
    assert found["probabilities"] == pytest.approx(model.predict_proba(gaps), abs=1e-4)


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "new"])
def test_missing_and_far_values_of_shape_functions(seen):
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    gaps[1, 0], gaps[2, 0] = -100.0, 100.0
    model = kg.AdditiveBoostingClassifier(max_iter=20, n_bags=2, interactions=[(0, 1)])
    model.fit(gaps if seen else X, THREE)
    found = run(export_estimator(model, gaps), {"X": gaps.astype(np.float32)})
    assert found["probabilities"] == pytest.approx(model.predict_proba(gaps), abs=1e-4)


def test_single_precision_is_nearly_as_good():
    found = run(export_estimator(NUMBERS["kernel"].fit(X, Y), X), {"X": X.astype(np.float32)})
    assert found["prediction"].dtype == np.float32


def test_a_network_of_counts_and_of_several_labels():
    counts = np.round(np.exp(0.2 * X[:, 0]))
    model = kg.MLPRegressor("poisson", (5,), solver="lbfgs", random_state=0).fit(X, counts)
    found = run(export_estimator(model, X, dtype=np.float64), {"X": X})
    assert found["prediction"][:, 0] == pytest.approx(model.predict(X), abs=1e-6)
    model = kg.MLPClassifier((5,), solver="lbfgs", random_state=0).fit(X, np.c_[TWO, 1 - TWO])
    with pytest.raises(KitchenError, match="several labels"):
        export_estimator(model, X)


def test_what_has_no_graph_is_named():
    with pytest.raises(KitchenError, match="RandomForestRegressor cannot be written"):
        export_estimator(RandomForestRegressor(3).fit(X, Y), X)
    with pytest.raises(KitchenError, match="Laplacian cannot be written"):
        export_estimator(kg.KernelRidge(kernel="laplacian").fit(X, Y), X)


@pytest.mark.parametrize("scale", ["standard", "whiten", "minmax", "rank", "log", "none"])
def test_columns_of_every_kind(scale):
    layout = Layout((
        Column("n", "numeric", ""), Column("m", "numeric", ""), Column("when", "date", ""),
        Column("size", "ordinal", "", levels=("S", "M", "L")),
        Column("word", "categorical", "", levels=("a", "b", "c", "d")),
        Column("gap", "categorical", "", levels=("x", "y")),
    ))  # fmt: skip
    rng = np.random.default_rng(1)
    C = np.column_stack([
        rng.gamma(2, size=80), rng.integers(0, 3, 80), rng.uniform(0, 900, 80),
        rng.integers(1, 4, 80) / 3, rng.choice(4, 80, p=[0.5, 0.44, 0.04, 0.02]),
        rng.integers(0, 2, 80),
    ])  # fmt: skip
    C[::7, 0] = C[::5, 5] = np.nan
    part = featurise(layout, 80, FeatureSettings(scale=scale)).fit(C)
    assert isinstance(part, ColumnTransformer)
    new = C.copy()
    new[0] = np.nan
    new[1, 4] = -1.0
    new[2, 0], new[3, 0] = -50.0, 900.0
    g = Graph()
    out = features(g, part, cells(g, layout))
    g.output(out, "Z", "double", [None, None])
    model = g.model("columns", {})
    from kilogram.kitchen.export.onnx_model import _raw

    inputs = {c.name: _raw(c, new[:, [k]]) for k, c in enumerate(layout.used)}
    found = run(model.SerializeToString(), inputs)["Z"]
    assert found == pytest.approx(part.transform(new), abs=1e-6)


@pytest.mark.parametrize("which", ["cooked", "sorted_classes"])
def test_every_recipe(which, request, tmp_path):
    cooked = request.getfixturevalue(which)
    for one in cooked.judged:
        # what training rows looked like is told in the features of the kept recipe
        use = {name: held for name, held in cooked.model.use.items() if name != "distribution"}
        if one.name == "baseline":
            use.pop("scale", None)
        pipeline = fitted_pipeline(one.first_round[0].model)
        found = export_model(replace(cooked.model, pipeline=pipeline, use=use))
        assert found.difference < 1e-4
        assert found.agreed == 1
    path = found.save(tmp_path / "m.onnx")
    assert path.read_bytes() == found.content
    assert "onnxruntime" in found.summary


def test_a_table_to_check_on_and_two_classes(two_classes):
    found = export_model(two_classes.model, classes(200, seed=3))
    assert found.rows == 202
    assert found.probabilities < 1e-4
    rows = {"a": np.array([[0.0], [6.0]]), "b": np.array([[0.0], [0.0]])}
    text = run(found.content, rows)
    expected = two_classes.predict(pd.DataFrame({"a": [0.0, 6.0], "b": [0.0, 0.0]}))
    assert text["prediction"].tolist() == expected.tolist()
    assert text["probabilities"].sum(axis=1) == pytest.approx(1.0)


def test_refusals(cooked):
    layout = Layout((*cooked.model.layout.columns, Column("face", "image", "said")))
    with pytest.raises(KitchenError, match="image column 'face'"):
        export_model(replace(cooked.model, layout=layout))
    with pytest.raises(KitchenError, match="no example rows"):
        export_model(replace(cooked.model, use={}))


def test_a_graph_that_says_something_else_is_not_given_out(cooked, monkeypatch):
    def wrong(content, inputs):
        return {name: value + 1.0 for name, value in run(content, inputs).items()}

    monkeypatch.setattr("kilogram.kitchen.export.onnx_model.run", wrong)
    with pytest.raises(KitchenError, match="not written"):
        export_model(cooked.model)


def test_the_command(cooked, tmp_path):
    cooked.save(tmp_path)
    done = CliRunner().invoke(
        app, ["export", str(tmp_path / "model.skops"), "--onnx", str(tmp_path / "model.onnx")]
    )
    assert done.exit_code == 0, done.output
    assert "through onnxruntime" in done.stdout
    assert (tmp_path / "model.onnx").stat().st_size > 1000


@pytest.mark.parametrize("kind", ["forest", "boosting"])
@pytest.mark.parametrize("task", ["regression", "two", "three"])
def test_trees(kind, task):
    trees = pytest.importorskip("kilogram.kitchen.recipes.tree_search")
    rng, rows = np.random.default_rng(2), 150
    A = rng.normal(size=(rows, 4))
    A[::6, 1] = np.nan
    z = np.nan_to_num(A[:, 1]) + np.sin(3 * A[:, 0])
    if task == "regression":
        model, y = trees.TreeSearchRegressor(kind, trials=2), z
    else:
        model, y = (
            trees.TreeSearchClassifier(kind, trials=2),
            np.digitize(z, [0, 1][: len(task) // 2]),
        )
    model.fit(A, y)
    g = Graph(np.float64)
    found = scores(g, model, g.input("X", "double 4"))
    g.output(found.name, "F", "double", [None, found.columns])
    F = run(g.model("trees", {}).SerializeToString(), {"X": A})["F"]
    expected = model.predict(A) if task == "regression" else model.decision_function(A)
    if expected.ndim == 1 and F.shape[1] == 2:
        F = F[:, 1:] - F[:, :1]
    assert np.allclose(F, expected.reshape(F.shape), atol=1e-4)


STORIES = ["Free money NOW, call 0800_1", "see you at noon", "call me", "", "x", "money money!",
           "Élan über straße: ÄÖ noon", "free call free call", "you see you",
           "not_a word"]  # fmt: skip


@pytest.mark.parametrize("formula", ["counts", "binary", "plain", "smooth", "sublinear"])
@pytest.mark.parametrize("n", [1, 3])
def test_text_is_cut_counted_and_weighted_as_python_does(formula, n):
    layout = Layout((Column("n", "numeric", ""), Column("story", "text", "")))
    raw = np.column_stack([np.arange(10.0).astype(object), np.array(STORIES, dtype=object)])
    for components in (None, 3):
        plan = FeatureSettings(n=n, weights=formula, components=components, min_documents=1)
        columns = featurise(layout, len(raw), plan).fit(raw)
        expected = columns.transform(raw)
        expected = expected.toarray() if hasattr(expected, "toarray") else expected
        g = Graph(np.float64)
        g.output(features(g, columns, cells(g, layout)), "features", "double", [None, None])
        text = {
            "n": np.arange(10.0)[:, None],
            "story": np.array(STORIES, dtype=object)[:, None],
        }
        content = g.model("text", {}).SerializeToString()
        found = run(content, text)["features"]
        np.testing.assert_allclose(found, expected, atol=1e-5)
        alone = {"n": np.zeros((1, 1)), "story": np.array([[""]], dtype=object)}
        assert run(content, alone)["features"].shape == (1, expected.shape[1])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("how", [{"analyzer": "char_wb"}, {"buckets": 16},
                                 {"analyzer": "char_wb", "buckets": 32}])  # fmt: skip
def test_characters_and_hashes_are_counted_as_python_does(how, n):
    layout = Layout((Column("story", "text", ""),))
    odd = [*STORIES, " two\t tabs\n\nlines ", "a", "  ", "\u00a0\u65e5\u672c \u00c9t\u00e9"]
    raw = np.array(odd, dtype=object)[:, None]
    plan = FeatureSettings(n=n, weights="counts", components=None, min_documents=1, **how)
    columns = featurise(layout, len(raw), plan).fit(raw)
    g = Graph(np.float64)
    g.output(features(g, columns, cells(g, layout)), "features", "double", [None, None])
    content = g.model("text", {}).SerializeToString()
    np.testing.assert_array_equal(run(content, {"story": raw})["features"],
                                  columns.transform(raw).toarray())  # fmt: skip
    for alone in ("", "x", "two words"):
        cell = np.array([[alone]], dtype=object)
        expected = columns.transform(cell).toarray()
        np.testing.assert_array_equal(run(content, {"story": cell})["features"], expected)


def test_text_that_has_no_operators_is_refused_with_the_reason():
    layout, raw = Layout((Column("story", "text", ""),)), np.array(STORIES, dtype=object)[:, None]
    for how, why in (({"analyzer": "char"}, "one blank of many"),
                     ({"stop_words": ["the"]}, "leaves out words")):  # fmt: skip
        columns = featurise(layout, len(raw), FeatureSettings(components=3))
        (name, *_), *_ = columns.transformers
        counts = {f"{name}__counts__{key}": value for key, value in how.items()}
        columns.set_params(**counts).fit(raw)
        g = Graph()
        with pytest.raises(KitchenError, match=why):
            features(g, columns, cells(g, layout))


def test_a_cooked_table_with_text(tmp_path):
    rng = np.random.default_rng(4)
    words = np.array(["free", "money", "call", "now", "noon", "you", "see", "at", "me", "lunch"])
    spam = rng.random(150) < 0.5
    text = [" ".join(rng.choice(words[:5] if s else words[4:], 4)) for s in spam]
    frame = pd.DataFrame({"text": text, "size": rng.normal(size=150),
                          "label": np.where(spam, "spam", "ham")})  # fmt: skip
    model = kg.cook(frame, "label", text=["text"], folds=2, repeats=1, search="path").model
    assert export_model(model).agreed > 0.99
