"""Gower's distance of tables: numbers, ordered levels, categories and missing values."""

import datetime

import numpy as np
import pytest

import kilogram as kg

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LEVELS = {"ordinal": {"size": ["small", "medium", "large"]}}
TABLE = pd.DataFrame(
    {
        "age": [20.0, 40.0, np.nan, 60.0],
        "size": ["small", "medium", "large", "medium"],
        "colour": pd.Categorical(["red", None, "blue", "red"]),
    }
)
# of every pair: mean over the known columns of |age| / 40, places / 2 and unequal colours
EXPECTED = np.array(
    [
        [0.0, (0.5 + 0.5) / 2, (1 + 1) / 2, (1 + 0.5 + 0) / 3],
        [0.5, 0.0, 0.5, (0.5 + 0) / 2],
        [1.0, 0.5, 0.0, (0.5 + 1) / 2],
        [0.5, 0.25, 0.75, 0.0],
    ]
)


def square(model, X):
    return model.kneighbors_graph(X, len(X), mode="distance").toarray()


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, lambda t: t.to_numpy(object)])
def test_gower_of_a_table(convert):
    X = convert(TABLE)
    params = LEVELS if hasattr(X, "columns") else {"ordinal": {1: LEVELS["ordinal"]["size"]}}
    model = kg.NearestNeighbors(metric="gower", metric_params=params).fit(X)
    np.testing.assert_allclose(square(model, X), EXPECTED, atol=1e-12)
    assert model.n_features_in_ == 3
    if hasattr(X, "columns"):
        assert model.feature_names_in_.tolist() == ["age", "size", "colour"]
    near = model.radius_neighbors(X, 0.5, return_distance=False)
    assert [row.tolist() for row in near] == [
        np.flatnonzero(row <= 0.5).tolist() for row in EXPECTED
    ]


def test_ordered_categories_and_times_of_pandas():
    table = pd.DataFrame(
        {
            "size": pd.Categorical(["s", "l", "m"], categories=["s", "m", "l"], ordered=True),
            "day": [datetime.datetime(2020, 1, day) for day in (1, 2, 5)],
        }
    )
    D = square(kg.NearestNeighbors(metric="gower").fit(table), table)
    np.testing.assert_allclose(D[0], [0, (1 + 0.25) / 2, (0.5 + 1) / 2], atol=1e-12)
    named = kg.NearestNeighbors(metric="gower", metric_params={"categorical": ["size"]}).fit(table)
    np.testing.assert_allclose(
        square(named, table)[0], [0, (1 + 0.25) / 2, (1 + 1) / 2], atol=1e-12
    )


def test_classes_means_and_outliers_of_a_table():
    labels, target = ["a", "b", "c", "d"], [1.0, 2.0, 3.0, 4.0]
    options = {"metric": "gower", "metric_params": LEVELS}
    classifier = kg.KNeighborsClassifier(1, **options).fit(TABLE, labels)
    assert classifier.predict(TABLE).tolist() == labels
    assert kg.KNeighborsRegressor(1, **options).fit(TABLE, target).predict(TABLE).tolist() == target
    scores = kg.KNeighborsOutlierDetector(1, **options, contamination=0.25).fit(TABLE)
    np.testing.assert_allclose(-scores.negative_outlier_factor_, [0.5, 0.25, 0.5, 0.25])


def test_values_that_training_did_not_have():
    model = kg.NearestNeighbors(n_neighbors=1, metric="gower", metric_params=LEVELS).fit(TABLE)
    green = TABLE.assign(colour="green")
    np.testing.assert_allclose(model.kneighbors(green[:1])[0], [[1 / 3]])
    with pytest.raises(ValueError, match=r"'huge', which is not among its ordered levels"):
        model.kneighbors(TABLE.assign(size="huge"))
    with pytest.raises(ValueError, match="column 'age' was numeric in training"):
        model.kneighbors(TABLE.assign(age="old"))
    with pytest.raises(ValueError, match="feature names"):
        model.kneighbors(TABLE[["size", "age", "colour"]])
    with pytest.raises(ValueError, match="array of numbers, not a table"):
        kg.NearestNeighbors(metric="gower").fit(np.ones((3, 3))).kneighbors(TABLE)


def test_arrays_with_missing_numbers():
    X = np.array([[0.0, np.nan, 1.0], [10.0, 3.0, 1.0], [np.nan, np.nan, np.nan]])
    D = square(kg.NearestNeighbors(metric="gower").fit(X), X)
    # the second column has one known value, the third one value: equal or not
    np.testing.assert_allclose(D, [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 1]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"categorical": ["no such"]}, "positions or"),
        ({"ordinal": {7: ["a"]}}, "has 3 columns"),
        ({"levels": 1}, "metric_params must suit"),
    ],
)
def test_columns_that_do_not_exist(params, message):
    with pytest.raises(ValueError, match=message):
        kg.NearestNeighbors(metric="gower", metric_params=params).fit(TABLE)
