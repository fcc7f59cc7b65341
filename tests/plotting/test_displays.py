"""What the displays draw: artists and their numbers, not pixels."""

import inspect

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.linear_model import RidgeCV
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kilogram as kg
from kilogram.evaluation import cv_plus
from kilogram.plotting.coefficient_path import _spread_heights

DISPLAYS = [name for name, module in kg.registry.PUBLIC.items() if ".plotting." in module]


@pytest.fixture(autouse=True)
def no_screen():
    """Figures without a window, closed afterwards."""
    with mpl.rc_context({"backend": "Agg"}):
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    return kg.make_two_moons(120, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, centers=[[0, 0], [5, 0], [2, 5]], cluster_std=0.7, random_state=0)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return kg.GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2]


# decision regions


def test_a_support_vector_machine_has_margins_and_rings(moons):
    X, y = moons
    model = kg.SVC(C=10.0).fit(X, y)
    display = kg.DecisionBoundaryDisplay.from_estimator(model, X, y, grid_resolution=40)
    assert display.lines_.levels.tolist() == [-1, 0, 1]
    np.testing.assert_allclose(display.support_.get_offsets(), model.support_vectors_)
    assert [len(points.get_offsets()) for points in display.points_] == [60, 60]
    grid = np.c_[display.xx0.ravel(), display.xx1.ravel()]
    assert np.array_equal(display.response.ravel(), model.predict(grid))
    assert display.figure_ is display.ax_.figure


def test_the_regions_of_named_classes_keep_the_names_of_a_frame():
    pd = pytest.importorskip("pandas")
    table = load_iris(as_frame=True)
    X, y = table.data.iloc[:, 2:], np.array(table.target_names)[table.target]
    model = kg.LogisticRegression().fit(X, y)
    display = kg.DecisionBoundaryDisplay.from_estimator(
        model, X, pd.Series(y), grid_resolution=20, response_method="predict_proba"
    )
    assert display.response.shape == (20, 20, 3)
    assert display.ax_.get_xlabel() == "petal length (cm)"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["setosa", "versicolor", "virginica"]
    blended = display.surface_.get_array()
    assert blended.shape == (20, 20, 3)
    assert 0 <= blended.min() <= blended.max() <= 1


def test_regressors_clusterers_and_outlier_detectors_have_regions(moons):
    X, y = moons
    models = kg.Ridge(), kg.KMeans(3, random_state=0), kg.LocalOutlierFactor(novelty=True)
    counts = []
    for model in models:
        display = kg.DecisionBoundaryDisplay.from_estimator(
            model.fit(X, y * 1.0), X, grid_resolution=15
        )
        counts.append(display.classes if display.classes is None else len(display.classes))
    assert counts == [None, 3, 2]


def test_the_values_of_two_classes_are_shades_around_zero(moons):
    X, y = moons
    display = kg.DecisionBoundaryDisplay.from_estimator(
        kg.LogisticRegression().fit(X, y), X, y, response_method="decision_function",
        grid_resolution=20,
    )  # fmt: skip
    low, high = display.surface_.get_clim()
    assert low == -high


def test_decision_regions_say_what_they_need(moons):
    X, y = moons
    draw = kg.DecisionBoundaryDisplay.from_estimator
    wide = kg.LogisticRegression().fit(np.c_[X, X], y)
    with pytest.raises(ValueError, match=r"draws 2 features, X has 4\. Fit the model on 2"):
        draw(wide, np.c_[X, X], y)
    with pytest.raises(ValueError, match="grid_resolution must be an integer"):
        draw(wide, X, y, grid_resolution=1)
    model = kg.LogisticRegression().fit(X, y)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got ndarray of shape"):
        draw(model, X, y, ax=plt.subplots(1, 2)[1])
    with pytest.raises(AttributeError, match="has no predict_proba"):
        draw(kg.LinearSVC().fit(X, y), X, y, response_method="predict_proba")
    with pytest.raises(TypeError, match="needs a fitted estimator, got"):
        draw("svc", X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        draw(model, X, y[:-1])


# bands


def test_the_band_of_a_gaussian_process_is_its_standard_deviation():
    x = np.linspace(0, 6, 25)[:, None]
    y = np.sin(x[:, 0]) + 0.2 * (-1) ** np.arange(25)
    model = kg.GaussianProcessRegressor(kg.Gaussian(1.0) + kg.White(0.1)).fit(x, y)
    display = kg.PredictionBandDisplay.from_estimator(model, x, y, grid_resolution=50)
    mean, std = model.predict(display.x[:, None], return_std=True)
    np.testing.assert_allclose(display.prediction, mean)
    np.testing.assert_allclose((display.upper - display.lower) / std, 2 * 1.959964, rtol=1e-5)
    assert len(display.scatter_.get_offsets()) == 25
    assert display.inner_ is None


def test_the_band_of_a_curve_lies_inside_that_of_observations():
    x = np.linspace(0, 3, 20)[:, None]
    y = 2 * np.exp(-x[:, 0]) + 0.05 * (-1) ** np.arange(20)
    model = kg.NonlinearRegression(lambda x, a, b: a * np.exp(-b * x), [1.0, 0.5]).fit(x, y)
    display = kg.PredictionBandDisplay.from_estimator(model, x, y, coverage=0.9)
    low, high = display.inner
    assert np.all((display.lower < low) & (low < high) & (high < display.upper))
    assert display.inner_ is not None


def test_any_regressor_has_a_conformal_band():
    x = np.linspace(0, 6, 30)[:, None]
    y = np.sin(x[:, 0])
    found = cv_plus(RidgeCV(), x, y)
    display = kg.PredictionBandDisplay.from_estimator(found, x, y, coverage=0.8)
    low, high = found.interval(display.x[:, None], 0.8)
    np.testing.assert_allclose((display.lower, display.upper), (low, high))
    with pytest.raises(TypeError, match="predicts no interval"):
        kg.PredictionBandDisplay.from_estimator(kg.Ridge().fit(x, y), x, y)


def test_given_bands_are_sorted_and_checked():
    draw = kg.PredictionBandDisplay.from_predictions
    display = draw([2.0, 1.0], [20.0, 10.0], [19.0, 9.0], [21.0, 11.0])
    assert display.line_.get_xydata().tolist() == [[1, 10], [2, 20]]
    with pytest.raises(ValueError, match="lower must not exceed upper"):
        draw([1.0], [1.0], [2.0], [0.0])


# linear models and components


def test_a_path_is_that_of_the_fits():
    X, y = load_diabetes(return_X_y=True)
    display = kg.CoefficientPathDisplay.from_estimator(kg.Lasso(), X, y, n_values=8)
    at = display.param_range[3]
    np.testing.assert_allclose(display.coefs[:, 3], kg.Lasso(alpha=at).fit(X, y).coef_)
    assert np.allclose(display.coefs[:, -1], 0, atol=1e-9)  # the strongest leaves nothing
    assert len(display.lines_) == 10
    assert display.ax_.get_xscale() == "log"


def test_a_computed_path_is_drawn_with_its_choice():
    X, y = load_diabetes(return_X_y=True)
    alphas, coefs, _ = kg.lasso_path(X, y - y.mean(), n_alphas=12)
    names = [f"column {j}" for j in range(10)]
    display = kg.CoefficientPathDisplay.from_path(alphas, coefs, feature_names=names, chosen=0.5)
    assert display.chosen_.get_xdata()[0] == 0.5
    written = {text.get_text() for text in display.ax_.texts}
    assert len(written) == 8
    assert written <= set(names)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kg.CoefficientPathDisplay.from_path(alphas[:-1], coefs)
    with pytest.raises(ValueError, match="has no parameter 'beta'"):
        kg.CoefficientPathDisplay.from_estimator(kg.Ridge(), X, y, param_name="beta")


def test_names_are_moved_apart_and_keep_their_order():
    given = np.array([0.0, 0.01, 5.0, 0.02, -3.0])
    found = _spread_heights(given, 1.0)
    assert np.array_equal(np.argsort(found), np.argsort(given))
    assert np.diff(np.sort(found)).min() >= 1 - 1e-12
    assert found[2] == 5.0
    assert found[4] == -3.0


def test_a_scree_plot_counts_the_components_that_are_needed():
    X = np.random.default_rng(0).normal(size=(200, 4)) * [3.0, 2.0, 0.1, 0.1]
    model = kg.PCA().fit(X)
    display = kg.ScreeDisplay.from_estimator(model, threshold=0.95)
    assert display.n_components_ == 2
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, model.explained_variance_ratio_)
    kernel = kg.KernelPCA(3).fit(X)
    assert kg.ScreeDisplay.from_estimator(kernel).line_ is None  # eigenvalues have no total
    with pytest.raises(TypeError, match="Ridge has no explained_variance_ratio_"):
        kg.ScreeDisplay.from_estimator(kg.Ridge().fit(X, X[:, 0]))


def test_a_kernel_matrix_is_sorted_by_class(blobs):
    X, y = blobs
    kernel = kg.Gaussian(sigma=1.0)
    display = kg.KernelMatrixDisplay.from_kernel(kernel, X, y)
    order = np.argsort(y, kind="stable")
    np.testing.assert_allclose(display.matrix, kernel(X[order]), atol=1e-12)
    assert display.counts.tolist() == [50, 50, 50]
    assert len(display.lines_) == 4
    machine = kg.SVC().fit(X, y)
    few = kg.KernelMatrixDisplay.from_estimator(machine, X, y, max_rows=20)
    assert few.matrix.shape == (20, 20)


# clusters


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_ellipses_are_one_and_two_standard_deviations(blobs, kind):
    X, _ = blobs
    model = kg.GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    display = kg.ClusterDisplay.from_estimator(model, X, grid_resolution=20)
    assert len(display.ellipses_) == 6
    full = kg.GaussianMixture(3, covariance_type=kind, random_state=0).fit(X).covariances_
    first = {"full": lambda: full[0], "tied": lambda: full, "diag": lambda: np.diag(full[0]),
             "spherical": lambda: full[0] * np.eye(2)}[kind]()  # fmt: skip
    small, large = (sorted((e.width, e.height)) for e in display.ellipses_[:2])
    np.testing.assert_allclose(small, 2 * np.sqrt(np.linalg.eigvalsh(first)), rtol=1e-6)
    np.testing.assert_allclose(np.array(large), 2 * np.array(small))


def test_clusters_without_predict_are_those_of_the_fit(blobs):
    X, _ = blobs
    tree = AgglomerativeClustering(3).fit(X)  # scikit-learn's: it cannot predict
    display = kg.ClusterDisplay.from_estimator(tree, X)
    assert [len(p.get_offsets()) for p in display.points_] == np.bincount(tree.labels_).tolist()
    assert display.centers_ is None
    assert kg.ClusterDisplay.from_estimator(kg.KMeans(3).fit(X), X).centers_ is not None
    with pytest.raises(ValueError, match="give the rows it was fitted on"):
        kg.ClusterDisplay.from_estimator(tree, X[:-1])


def test_silhouettes_are_sorted_within_their_cluster(blobs):
    X, _ = blobs
    model = kg.KMeans(3, random_state=0).fit(X)
    display = kg.SilhouetteDisplay.from_estimator(model, X)
    assert len(display.bars_) == 3
    assert display.line_.get_xdata()[0] == pytest.approx(kg.silhouette_score(X, model.labels_))
    noisy = np.where(np.arange(150) < 5, -1, model.labels_)
    assert len(kg.SilhouetteDisplay.from_predictions(X, noisy).values) == 145


# classification


def test_the_area_and_band_of_a_roc_curve(cancer):
    model, X, y = cancer
    display = kg.RocCurveDisplay.from_estimator(model, X, y, n_bootstrap=50)
    score = model.predict_proba(X)[:, 1]
    assert display.roc_auc == pytest.approx(roc_auc_score(y, score))
    assert display.interval[0] < display.roc_auc < display.interval[1]
    _, low, high = display.band
    assert np.all(low <= high)
    assert display.fill_between_ is not None
    assert "GaussianNB: AUC" in display.line_.get_label()
    other = kg.RocCurveDisplay.from_predictions(y, -score, pos_label=0, ax=display.ax_)
    assert other.roc_auc == pytest.approx(display.roc_auc)
    assert other.line_.get_color() != display.line_.get_color()


def test_the_average_precision_and_the_precision_of_guessing(cancer):
    model, X, y = cancer
    display = kg.PrecisionRecallDisplay.from_estimator(model, X, y, n_bootstrap=0)
    score = model.predict_proba(X)[:, 1]
    assert display.average_precision == pytest.approx(average_precision_score(y, score))
    assert display.chance_level_.get_ydata()[0] == pytest.approx(y.mean())
    assert display.band is None


def test_curves_of_three_classes_need_one_to_be_named(blobs):
    X, y = blobs
    model = kg.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="draws two classes, y has 3: name one with pos_label"):
        kg.RocCurveDisplay.from_estimator(model, X, y)
    assert kg.RocCurveDisplay.from_estimator(model, X, y, pos_label=1, n_bootstrap=5).pos_label == 1
    with pytest.raises(ValueError, match="pos_label=7 is not one of"):
        kg.CalibrationDisplay.from_estimator(model, X, y, pos_label=7)


def test_a_confusion_matrix_counts_rows(cancer):
    model, X, y = cancer
    display = kg.ConfusionMatrixDisplay.from_estimator(model, X, y)
    f = model.predict(X)
    assert display.confusion_matrix[0, 1] == np.sum((y == 0) & (f == 1))
    assert display.text_[0, 0].get_text() == str(int(np.sum((y == 0) & (f == 0))))
    rates = kg.ConfusionMatrixDisplay.from_predictions(y, f, normalize="true")
    np.testing.assert_allclose(rates.confusion_matrix.sum(axis=1), 1)
    with pytest.raises(ValueError, match="display_labels must contain 2 names, got 1"):
        kg.ConfusionMatrixDisplay.from_predictions(y, f, display_labels=["one"])
    with pytest.raises(ValueError, match="normalize must be"):
        kg.ConfusionMatrixDisplay.from_predictions(y, f, normalize="rows")


def test_a_reliability_diagram_has_the_frequencies_of_its_bins():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=4000)
    y = (rng.uniform(size=4000) < p).astype(int)
    display = kg.CalibrationDisplay.from_predictions(y, p, n_bins=8)
    assert len(display.prob_true) == 8
    assert np.abs(display.prob_true - display.prob_pred).max() < 0.08
    assert display.calibration_error < 0.04
    names = np.where(y == 1, "yes", "no")
    turned = kg.CalibrationDisplay.from_predictions(names, 1 - p, pos_label="no", ax=display.ax_)
    assert turned.brier == pytest.approx(display.brier)


# regression, curves over rows, parameters and iterations


def test_residuals_and_their_mean_in_bins():
    x = np.linspace(-2, 2, 400)
    y = x**2
    bent = kg.PredictionErrorDisplay.from_predictions(y, 1.0 + x, subsample=100)
    assert len(bent.scatter_.get_offsets()) == 100
    middle = bent.trend_.lines[0].get_ydata()
    assert len(middle) == 10
    assert middle[0] > 0 > middle[5]
    straight = kg.PredictionErrorDisplay.from_predictions(y, y, kind="actual_vs_predicted")
    assert straight.ax_.get_title("left").startswith("R² 1.000")
    with pytest.raises(ValueError, match="use ConfusionMatrixDisplay"):
        kg.PredictionErrorDisplay.from_predictions(["a", "b"], ["a", "b"])


def test_learning_and_validation_curves_use_pipelines_and_clip_their_bands():
    X, y = load_iris(return_X_y=True)
    model = kg.GaussianNB()
    curve = kg.LearningCurveDisplay.from_estimator(model, X, y, train_sizes=[0.2, 1.0], cv=4)
    assert curve.train_sizes.tolist() == [22, 112]
    assert curve.ax_.get_ylabel() == "accuracy"
    path = curve.fill_between_[0].get_paths()[0].vertices
    assert path[:, 1].max() <= 1.0
    only = kg.LearningCurveDisplay.from_estimator(
        model, X, y, train_sizes=[0.5, 1.0], cv=3, score_type="test"
    )
    assert len(only.lines_) == 1
    pipe = make_pipeline(StandardScaler(), kg.LogisticRegression())
    grid = [1e-3, 1e-1, 10.0]
    found = kg.ValidationCurveDisplay.from_estimator(
        pipe, X, y, param_name="logisticregression__C", param_range=grid, cv=3
    )
    best = grid[int(np.argmax(found.test_scores.mean(axis=1)))]
    assert found.best_.get_xdata()[0] == best
    words = kg.ValidationCurveDisplay.from_estimator(
        kg.SVC(), X, y, param_name="kernel", param_range=["rbf", "linear"], cv=3
    )
    assert [t.get_text() for t in words.ax_.get_xticklabels()] == ["rbf", "linear"]


@pytest.mark.filterwarnings("ignore")
def test_loss_curves_of_networks_mixtures_and_boosting(moons, blobs):
    X, y = moons
    nets = {
        name: kg.MLPClassifier((5,), learning_rate_init=rate, max_iter=5, early_stopping=True,
                               random_state=0).fit(X, y)
        for name, rate in (("slow", 1e-3), ("fast", 1e-1))
    }  # fmt: skip
    display = kg.LossCurveDisplay.from_estimator(nets)
    assert [line.get_label() for line in display.lines_] == ["slow", "fast"]
    assert len(display.held_out_) == 2
    assert len(display.figure_.axes) == 2  # scores are on an axis of their own
    mixture = kg.GaussianMixture(3, random_state=0).fit(blobs[0])
    bounds = kg.LossCurveDisplay.from_estimator(mixture).lines_[0].get_ydata()
    assert bounds.tolist() == list(mixture.lower_bounds_)
    trees = kg.HistGradientBoostingRegressor(max_iter=5, early_stopping=True).fit(X, y * 1.0)
    assert kg.LossCurveDisplay.from_estimator(trees).ylabel == "score"
    with pytest.raises(TypeError, match="recorded no losses"):
        kg.LossCurveDisplay.from_estimator(kg.Ridge().fit(X, y * 1.0))
    with pytest.raises(ValueError, match="record different quantities"):
        kg.LossCurveDisplay.from_estimator({"net": nets["slow"], "mixture": mixture})


# all of them


def test_an_array_of_another_library_is_drawn(moons):
    xp = pytest.importorskip("array_api_strict")
    X, y = (xp.asarray(part) for part in moons)
    model = kg.LogisticRegression().fit(X, y)
    display = kg.DecisionBoundaryDisplay.from_estimator(model, X, y, grid_resolution=10)
    assert display.response.shape == (10, 10)
    assert kg.RocCurveDisplay.from_estimator(model, X, y, n_bootstrap=0).roc_auc > 0.5


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_has_the_methods_of_scikit_learns_and_is_listed(name):
    cls = getattr(kg, name)
    assert name in kg.plotting.__doc__
    for method in (cls.from_estimator, cls.plot):
        assert inspect.signature(method).parameters["ax"].default is None


def test_values_that_are_missing_are_refused(cancer):
    y = cancer[2]
    gaps = np.where(np.arange(len(y)) == 3, np.nan, 0.5)
    with pytest.raises(ValueError, match="y_score contains NaN"):
        kg.RocCurveDisplay.from_predictions(y, gaps)
    with pytest.raises(ValueError, match="NaN"):
        kg.PredictionErrorDisplay.from_predictions(gaps, gaps)
    with pytest.raises(ValueError, match="NaN"):
        kg.KernelMatrixDisplay.from_kernel("rbf", np.c_[gaps, gaps])
