"""Features from mixed columns: the use of each column, and the resulting numbers."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from clew.cluster import GuidedClustering
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.tables import TableFeatures
from clew.tables._features import TextComponents

RNG = np.random.RandomState(0)
N = 60
WORDS = ("red", "green", "blue", "wing", "song", "tree", "nest", "lake")
MIXED = pd.DataFrame(
    {
        "size": RNG.normal(5, 2, N),
        "gap": np.where(np.arange(N) % 10 == 0, np.nan, np.arange(N) * 3.0),
        "color": [("red", "green", "blue", None)[i % 4] for i in range(N)],
        "flag": np.arange(N) % 3 == 0,
        "when": [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(N)],
        "stamp": pd.date_range("2020-01-01", periods=N, freq="D"),
        "note": [" ".join(RNG.permutation(WORDS)[:5]) + f" {i}" for i in range(N)],
        "ring": [f"A{i:03d}" for i in range(N)],
        "place": [f"p{i % 25}" for i in range(N)],
        "bird_id": np.arange(N) // 2,
        "row": np.arange(1, N + 1),
        "same": 7,
        "void": None,
    }
)
ANIMALS = (
    *("wolf", "heron", "badger", "squid", "jackal", "mouse", "newt", "puffin", "quail", "rhino"),
    *("sheep", "tapir", "urial", "viper", "walrus", "xerus", "yak", "zebra", "adder", "bison"),
    *("cod", "dingo", "emu", "fox", "gnu", "hyena", "ibex", "koala", "lynx", "moth"),
)
USES = {
    "size": "number",
    "gap": "number",
    "color": "category",
    "flag": "category",
    "when": "date",
    "stamp": "date",
    "note": "text",
    "ring": "dropped",
    "place": "category",
    "bird_id": "dropped",
    "row": "dropped",
    "same": "dropped",
    "void": "dropped",
}


@pytest.fixture(scope="module")
def fitted() -> TableFeatures:
    return TableFeatures().fit(MIXED)


def test_the_values_of_a_column_determine_its_use(fitted):
    assert {column.name: column.use for column in fitted.columns_} == USES
    text = fitted.describe()
    for words in (
        "numbers: size, gap (6 missing)",
        "dates: when, stamp",
        "color (3 values, 15 missing)",
        "place (19 of 25 values, others)",
        "free text: note",
        "ring (differs from row to row)",
        "bird_id (an id by its name)",
        "row (row numbers)",
        "same (the same value in every row)",
        "void (empty)",
    ):
        assert words in text


def test_each_use_gives_its_features(fitted):
    X = fitted.transform(MIXED)
    names = list(fitted.get_feature_names_out())
    assert X.shape == (N, len(names)) == (N, fitted.n_features_out_)
    assert len(set(names)) == len(names)
    assert np.isfinite(X).all()
    for name in ("size", "when", "stamp"):
        column = X[:, names.index(name)]
        np.testing.assert_allclose([column.mean(), column.std()], [0, 1], atol=1e-12)
    gap = MIXED["gap"].isna().to_numpy()
    np.testing.assert_array_equal(X[:, names.index("missingindicator_gap")], 0.5 * gap)
    np.testing.assert_array_equal(X[:, names.index("color_red")], MIXED["color"] == "red")
    np.testing.assert_array_equal(X[:, names.index("color_(missing)")], MIXED["color"].isna())
    assert sum(name.startswith("place_") for name in names) == 20
    text = X[:, [name.startswith("note_") for name in names]]
    assert text.shape == (N, 20)
    norm = np.linalg.norm(text, axis=1)
    np.testing.assert_allclose(norm, norm[0])
    assert 1 <= norm[0] <= np.sqrt(6) + 1e-12


def test_distances_of_texts_vary_as_those_of_numbers_do():
    random = np.random.default_rng(0)
    words = np.array([f"word{at}" for at in range(40)])
    subject = random.integers(0, 4, 500)
    texts = [" ".join(random.choice(words[10 * k : 10 * k + 10], 5)) for k in subject]
    table = pd.DataFrame({"size": random.normal(size=500), "title": texts})
    size, *title = TableFeatures(n_components=4).fit_transform(table).T
    one, other = random.integers(0, 500, (2, 20_000))
    of_numbers = (size[one] - size[other]) ** 2
    of_texts = ((np.stack(title)[:, one] - np.stack(title)[:, other]) ** 2).sum(axis=0)
    assert of_texts.std() == pytest.approx(of_numbers.std(), rel=0.1)


@pytest.mark.parametrize(
    ("texts", "squared"), [(["red lamp of oak wood"], 6.0), (["the same words in all"] * 30, 1.0)]
)
def test_texts_without_distances_have_a_norm(texts, squared):
    X = TextComponents().fit(texts).transform(texts)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.sqrt(squared))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_phrases_that_have_nothing_to_do_with_numbers_do_not_hide_their_groups(seed):
    """Sixty phrases of five words; as texts of their own they made 65 to 187 groups."""
    random = np.random.default_rng(seed)
    kind, words = random.integers(4, size=300), np.array([f"word{at}" for at in range(40)])
    table = pd.DataFrame(
        3.0 * random.normal(size=(4, 4))[kind] + 0.8 * random.normal(size=(300, 4)),
        columns=["age", "spend", "visits", "score"],
    )
    phrases = [" ".join(random.choice(words, 5)) for _ in range(60)]
    alone = GuidedClustering(random_state=0).fit(table)
    table["note"] = random.choice(phrases, 300)
    model = GuidedClustering(random_state=0).fit(table)
    found, best = (adjusted_rand_score(kind, one.labels_) for one in (model, alone))
    assert found > best - 0.05
    assert model.n_clusters_ <= 5


def test_gaps_are_filled_by_the_nearest_rows():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=200)
    frame = pd.DataFrame({
        "size": 10.0 * kind + rng.normal(size=200),
        "weight": 50.0 * kind + rng.normal(size=200),
        "points": 4.0 * kind + 1,
    }).mask(rng.random((200, 3)) < 0.2)  # fmt: skip
    for given in (frame, frame.iloc[:50]):
        X = TableFeatures(standardize=False).fit(frame).transform(given)
        is_known = ~given.isna().all(axis=1).to_numpy()
        of = kind[: len(given)][is_known]
        assert (abs(X[is_known, 1] - 50 * of) < 4).mean() > 0.97
        assert set(X[:, 2]) == {1.0, 5.0}  # no points between
        assert (X[is_known, 2] == 4 * of + 1).all()


@pytest.mark.slow
def test_gaps_do_not_hide_the_groups_of_a_table():
    wine = load_wine(as_frame=True)
    rng = np.random.RandomState(0)
    frame = wine.data.mask(rng.rand(*wine.data.shape) < 0.15)
    model = GuidedClustering(random_state=0).fit(frame)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(wine.target, model.labels_) > 0.8


def test_dates_of_new_rows_are_read_in_every_form_that_can_be_told():
    german = pd.DataFrame({"when": [f"{day:02}.05.2024" for day in range(1, 21)]})
    mixed = german.replace({"when": {"07.05.2024": "2024-05-07", "08.05.2024": "2024/05/08"}})
    recipe = TableFeatures(standardize=False).fit(german)
    np.testing.assert_array_equal(recipe.transform(mixed), recipe.transform(german))
    np.testing.assert_array_equal(recipe.fit_transform(mixed), recipe.transform(german))
    for value in ("5/1/2024", "soon"):
        with pytest.raises(InvalidDataError, match=rf"'when' held only dates in fit.*'{value}'"):
            recipe.transform(pd.DataFrame({"when": ["01.05.2024", value]}))


def test_dates_keep_their_distances(fitted):
    X = fitted.transform(MIXED)
    stamp = X[:, list(fitted.get_feature_names_out()).index("stamp")]
    np.testing.assert_allclose(np.diff(stamp), np.diff(stamp)[0])


def test_fits_are_deterministic_and_pickle(fitted):
    again = clone(fitted).fit_transform(MIXED)
    np.testing.assert_array_equal(again, TableFeatures().fit_transform(MIXED))
    np.testing.assert_array_equal(again, pickle.loads(pickle.dumps(fitted)).transform(MIXED))


def test_new_rows(fitted):
    new = MIXED.iloc[:3].copy()
    new["color"] = ["red", "violet", None]
    new = new[new.columns[::-1]].assign(more=1)
    X = fitted.transform(new)
    names = list(fitted.get_feature_names_out())
    colors = X[:, [name.startswith("color_") for name in names]]
    np.testing.assert_array_equal(colors.sum(axis=1), [1, 0, 1])
    with pytest.raises(InvalidDataError, match="no column 'size'"):
        fitted.transform(MIXED.drop(columns="size"))


def test_tables_of_numbers_are_not_changed():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [10, 50, 30]})
    recipe = TableFeatures()
    np.testing.assert_array_equal(recipe.fit_transform(frame), frame.to_numpy())
    assert not recipe.standardizes_
    np.testing.assert_allclose(TableFeatures(standardize=True).fit_transform(frame).std(axis=0), 1)
    frame.loc[0, "a"] = np.nan
    assert TableFeatures().fit(frame).standardizes_
    as_given = TableFeatures(standardize=False).fit_transform(frame)
    np.testing.assert_array_equal(as_given, [[3, 10, 0.5], [2, 50, 0], [4, 30, 0]])


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["2024-05-01", "2024-05-02T10:00:00", "2024-07-01"], ""),
        (["01.05.2024", "02.05.2024", "13.05.2024"], ""),
        (["5/1/2024", "5/13/2024", "6/1/2024"], "read as month/day/year"),
        (["1/5/2024", "13/5/2024", "2/6/2024"], "read as day/month/year"),
    ],
)
def test_dates_of_any_form(values, note):
    (column,) = TableFeatures().fit(pd.DataFrame({"when": values})).columns_
    assert (column.use, column.note) == ("date", note)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([*["1.5"] * 20, "x"], r"row 20, column 'a': 'x' is not a number"),
        ([*["1.5.2024"] * 20, "31.2.2024", "?"], "row 20, column 'a': '31.2.2024' is not a date"),
        ([1.0, np.inf, 2.0], r"row 1, column 'a': inf is not a finite number"),
        ([1.0, 1.0, 1.0], "no column can be used as a feature .*the same value"),
    ],
)
def test_table_that_is_refused(column, words):
    with pytest.raises(InvalidDataError, match=words):
        TableFeatures().fit(pd.DataFrame({"a": column}))


def test_columns_with_the_same_name_are_refused():
    with pytest.raises(InvalidDataError, match="two columns are named 'a'"):
        TableFeatures().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InvalidDataError, match="no rows"):
        TableFeatures().fit(pd.DataFrame({"a": []}))
    with pytest.raises(InvalidParameterError, match="max_categories"):
        TableFeatures(max_categories=1).fit(MIXED)


def test_scikit_learn_takes_it_into_a_pipeline():
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline

    frame = pd.DataFrame({"size": [1, 1.5, 9, 9.5], "kind": ["a", "a", "b", "b"]})
    labels = make_pipeline(TableFeatures(), KMeans(2, n_init=1, random_state=0)).fit_predict(frame)
    assert labels[0] == labels[1] != labels[2] == labels[3]


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.5"), Decimal("3"), None, Decimal("8"), Decimal("2")],
        [1.5, 3, None, 8, 2],
        ["1.5", "3", None, " 8", "2e0"],
        pd.array([1.5, 3, None, 8, 2], dtype="Float64"),
        pd.to_timedelta([1.5, 3, None, 8, 2], unit="D"),
        pd.Series([1.5, 3, None, 8, 2]).astype("Sparse[float]"),
    ],
    ids=("decimals", "objects", "texts", "nullable", "durations", "sparse"),
)
def test_numbers_of_any_type(values):
    table = pd.DataFrame({"a": pd.Series(values, dtype=getattr(values, "dtype", object))})
    recipe = TableFeatures()
    X = recipe.fit_transform(table)
    assert [column.use for column in recipe.columns_] == ["number"]
    known = np.array([1.5, 3, 8, 2])
    expected = np.insert((known - known.mean()) / known.std(), 2, 0)
    np.testing.assert_allclose(X[:, 0], expected, atol=1e-12)
    assert X[:, 1].tolist() == [0, 0, 0.5, 0, 0]


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical([1, 2, 1, None, 2]),
        pd.array([True, False, True, None, False], dtype="boolean"),
        pd.Categorical(["2024-01-01", "2024-01-02", "2024-01-01", None, "2024-01-02"]),
    ],
    ids=("numbers", "booleans", "dates"),
)
def test_columns_that_pandas_calls_categories_are_categories(values):
    table = pd.DataFrame({"a": values})
    recipe = TableFeatures()
    X = recipe.fit_transform(table)
    assert (X[:, None] == X).all(axis=2).sum(axis=1).tolist() == [2, 2, 2, 1, 2]
    assert [column.use for column in recipe.columns_] == ["category"]
    assert recipe.transform(table.iloc[:2]).shape == (2, 3)


def test_words_of_a_scale_have_its_order():
    words = ["agree", "Strongly agree", "disagree", None, "neutral", "disagree"]
    ordered = pd.Categorical(list("bcaaab"), categories=list("abc"), ordered=True)
    table = pd.DataFrame({"asked": words, "grade": ordered})
    recipe = TableFeatures(standardize=False)
    X = recipe.fit_transform(table)
    assert [column.use for column in recipe.columns_] == ["scale", "scale"]
    assert (
        recipe.describe() == "scales: asked (disagree to strongly agree, 1 missing), grade (a to c)"
    )
    assert X[[0, 1, 2, 4, 5], 0].tolist() == [2, 3, 0, 1, 0]
    assert X[:, 1].tolist() == [1, 2, 0, 0, 0, 1]
    # A step that is new joins the nearest one; two steps have no order that matters.
    later = pd.DataFrame({"asked": ["strongly disagree"], "grade": ["c"]})
    assert recipe.transform(later)[0, :2].tolist() == [0, 2]
    recipe.fit(pd.DataFrame({"asked": ["agree", "disagree", "agree"]}))
    assert [column.use for column in recipe.columns_] == ["category"]


def test_words_in_several_spellings_are_compared_by_their_letters():
    random = np.random.default_rng(0)
    cities = ["Amsterdam", "Barcelona", "Copenhagen", "Frankfurt", "Gothenburg", "Liverpool"]
    y = np.arange(120) % 6
    # Every second one has lost a letter.
    at = random.integers(0, 9, 120)
    spelled = [
        cities[one][:cut] + cities[one][cut + row % 2 :]
        for row, (one, cut) in enumerate(zip(y, at, strict=True))
    ]
    recipe = TableFeatures()
    X = recipe.fit_transform(pd.DataFrame({"city": spelled}))
    assert [column.use for column in recipe.columns_] == ["spelling"]
    assert (NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X)[1] % 6 == (y % 6)[:, None]).all()
    # Codes, and words that are not alike, are not spellings of each other.
    for words in ([f"A{number % 70:03}" for number in range(120)], [*ANIMALS, *ANIMALS]):
        recipe.fit(pd.DataFrame({"a": words}))
        assert [column.use for column in recipe.columns_] == ["category"]


def test_periods_are_dates():
    recipe = TableFeatures(standardize=False)
    X = recipe.fit_transform(pd.DataFrame({"a": pd.period_range("2024-01", periods=3, freq="M")}))
    assert np.diff(X[:, 0]).tolist() == [31, 29]


@pytest.mark.parametrize("name", ["Unnamed: 0", "Unnamed: 0.1", "index", "level_0"])
def test_an_index_that_became_a_column_is_dropped(name):
    recipe = TableFeatures().fit(pd.DataFrame({name: [3, 0, 2, 1], "a": [0.5, 1, 2.5, 3]}))
    assert [column.use for column in recipe.columns_] == ["dropped", "number"]
    recipe.fit(pd.DataFrame({name: [3, 3, 2, 1], "a": [0.5, 1, 2.5, 3]}))
    assert [column.use for column in recipe.columns_] == ["number", "number"]


@pytest.mark.parametrize(
    ("values", "words"),
    [([1j, 2, 3], "complex"), ([[1], [2], [3]], "list"), ([{"a": 1}, None, None], "dict")],
)
def test_values_that_cannot_be_features_are_refused(values, words):
    with pytest.raises(InvalidDataError, match=f"'a' holds .*{words}"):
        TableFeatures().fit(pd.DataFrame({"a": values}))


def test_words_in_place_of_fitted_numbers_are_refused():
    recipe = TableFeatures().fit(pd.DataFrame({"a": [1.5, 2, 4]}))
    with pytest.raises(InvalidDataError, match="'a' held only numbers"):
        recipe.transform(pd.DataFrame({"a": [1.5, "x", 4]}))
