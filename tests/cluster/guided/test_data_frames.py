"""Data frames of mixed columns go into `GuidedClustering` as they are."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from clew import Answer, Constraints, Session
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.tables import RecordFeatures, TableFeatures

pytestmark = pytest.mark.usefixtures("small_search")

RANDOM = np.random.RandomState(0)
Y = RANDOM.permutation(np.arange(90) % 3)
FRAME = pd.DataFrame(
    {
        "wing": np.where(RANDOM.rand(90) < 0.1, np.nan, 10.0 * Y + RANDOM.normal(size=90)),
        "color": np.array(["red", "gray", "white"])[Y],
        "note": [
            f"{('sings', 'dives', 'hops')[k]} near the {RANDOM.choice(['pond', 'reed'])}" for k in Y
        ],
    },
    index=[f"bird {at}" for at in range(90)],
)
ANSWERS = Constraints.from_labels(Y, 60, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return GuidedClustering(3, random_state=0).fit(FRAME, constraints=ANSWERS)


def _products(seed, n=400):
    """Titles tell the kind; weights, stocks, brands and colors do not."""
    random = np.random.default_rng(seed)
    words = np.array([f"word{at}" for at in range(40)]).reshape(8, 5)
    others = np.array(["new", "best", "sale", "classic", "modern", "value", "pack", "set"])
    kind = random.integers(0, 8, n)
    titles = [" ".join([*random.choice(words[k], 3), *random.choice(others, 3)]) for k in kind]
    columns = {
        "title": titles,
        "weight": np.exp(random.normal(3, 0.7, n)).round(2),
        "stock": random.poisson(20, n),
        "brand": random.choice(list("ABCDEF"), n),
        "color": random.choice(["red", "blue", "green"], n),
    }
    return pd.DataFrame(columns), kind


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n_answers", [0, 100])
def test_a_telling_text_is_not_lost_among_other_columns(seed, n_answers):
    table, kind = _products(seed)
    answers = Constraints.from_labels(kind, n_answers, error=0.1, random_state=seed)
    model = GuidedClustering(random_state=0).fit(table, constraints=answers)
    assert adjusted_rand_score(kind, model.labels_) > 0.8


@pytest.mark.slow
def test_text_categories_and_missing_values_are_read(fitted):
    assert adjusted_rand_score(Y, fitted.labels_) > 0.9
    assert fitted.feature_names_in_.tolist() == ["wing", "color", "note"]
    assert fitted.n_features_in_ == 3
    assert isinstance(fitted.table_features_, TableFeatures)


def test_new_rows_come_as_a_data_frame_with_the_same_columns(fitted):
    assert (fitted.predict(FRAME) == fitted.labels_).all()
    new = FRAME[["note", "color", "wing"]].sample(frac=1, random_state=0)
    assert (fitted.predict(new) == pd.Series(fitted.labels_, FRAME.index)[new.index]).all()
    loaded = pickle.loads(pickle.dumps(fitted))
    assert (loaded.predict(FRAME) == fitted.labels_).all()
    assert fitted.score(FRAME, constraints=ANSWERS) > -0.4
    with pytest.raises(InvalidDataError, match="give other rows as one"):
        fitted.predict(np.zeros((2, 3)))
    with pytest.raises(InvalidDataError, match="no column 'note'"):
        fitted.predict(FRAME[["wing", "color"]])


@pytest.mark.slow
def test_further_answers_and_the_same_numbers_lead_to_the_same_groups(fitted):
    first, more = (ANSWERS.select(pairs=part) for part in (np.arange(60) < 40, np.arange(60) >= 40))
    again = GuidedClustering(3, random_state=0).fit(FRAME, constraints=first)
    again.partial_fit(FRAME, constraints=more)
    assert (again.labels_ == fitted.labels_).all()
    numbers = TableFeatures().fit_transform(FRAME)
    plain = GuidedClustering(3, standardize=False, random_state=0).fit(numbers, constraints=ANSWERS)
    assert (plain.labels_ == fitted.labels_).all()
    np.testing.assert_array_equal(plain.probabilities_, fitted.probabilities_)


def test_another_fit_forgets_the_table(fitted):
    model = pickle.loads(pickle.dumps(fitted))
    model.fit(np.eye(3)[Y], constraints=ANSWERS)
    assert model.table_features_ is None
    numbers = FRAME[["wing"]].fillna(0)
    assert model.fit(numbers, constraints=ANSWERS).feature_names_in_.tolist() == ["wing"]
    assert model.table_features_ is None


WINE = load_wine(as_frame=True)
NAMES = list(WINE.data)
OF_WINE = Constraints.from_labels(WINE.target, 150, error=0.1, random_state=0)


class OtherFrame:
    """What is needed of a data frame of another library, such as polars."""

    def __init__(self, columns):
        self.values, self.columns = columns, list(columns)
        self.dtypes = ["Float64"] * len(columns)

    def __getitem__(self, name):
        return self.values[name]

    def __len__(self):
        return len(self.values[self.columns[0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame",
    [
        WINE.data.astype(str),
        WINE.data.assign(all_alike="wine"),
        WINE.data.assign(sample_id=np.random.default_rng(0).permutation(178)),
        OtherFrame({name: WINE.data[name].to_numpy() for name in NAMES}),
    ],
    ids=["numbers as text", "a constant text", "an id", "another library"],
)
def test_columns_of_numbers_have_the_same_groups_in_any_frame(frame):
    expected = GuidedClustering(3, random_state=0).fit(WINE.data, constraints=OF_WINE)
    model = GuidedClustering(3, random_state=0).fit(frame, constraints=OF_WINE)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.feature_names_in_.tolist()[:13] == NAMES
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    # Units differ: what is not standardized follows one column, whose numbers are the largest.
    session, plain = (Session(X, random_state=0) for X in (frame, WINE.data))
    assert session.ask(8, annotator="ann") == plain.ask(8, annotator="ann")


@pytest.mark.slow
def test_a_data_frame_of_records_is_compared_by_characters():
    random = np.random.RandomState(1)
    letters = np.array(list("abcdefghijklmnop"))
    names = ["".join(random.choice(letters, 12)) for _ in range(60)]
    places = np.repeat(np.arange(60), 3)
    typed = [f"{names[at][:copy]}x{names[at][copy:]}" for at in range(60) for copy in (2, 5, 8)]
    frame = pd.DataFrame({"name": typed, "city": random.choice(["Rome", "Paris"], 180)})
    model = GuidedClustering(random_state=0).fit(frame)
    assert model.regime_ == "identities"
    assert adjusted_rand_score(places, model.labels_) > 0.9
    assert isinstance(model.table_features_, RecordFeatures)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    session = Session(frame, random_state=0).result()
    assert adjusted_rand_score(places, session.labels_) > 0.9
    cities = GuidedClustering(2, random_state=0).fit(frame)  # a small number: by columns
    assert isinstance(cities.table_features_, TableFeatures)


@pytest.mark.parametrize("X", [["red wine", "white wine"], [["red"], ["white"]], [[1.0], [np.nan]]])
def test_text_and_gaps_in_an_array_are_refused_with_what_to_do(X):
    with pytest.raises(InvalidDataError, match="as a pandas data frame"):
        GuidedClustering(2).fit(X)


@pytest.mark.slow
def test_results_are_shown_in_a_line(fitted):
    assert repr(fitted.result_) == (
        f"GuidedResult(90 rows in 3 groups, 60 answers, {fitted.n_violated_} violated)"
    )
    session = Session(FRAME, random_state=0)
    entries = [Answer(session.question("bird 0", "bird 1"), "same", annotator="ann")]
    assert repr(session.apply(entries)) == "Applied(1 applied, 0 duplicate, 0 unknown)"
    assert repr(session.result()).startswith("SessionResult(90 items in ")
    assert len(repr(session.result())) < 200


@pytest.mark.slow
def test_rows_are_explained_by_the_index_of_the_data_frame(fitted):
    """As a session names them; by number, too, and where answers were added."""
    found = fitted.explain("bird 0", "bird 3")
    assert found.rows == fitted.explain(0, 3).rows == (0, 3)
    assert str(found).startswith("bird 0 and bird 3 are ")
    with pytest.raises(InvalidParameterError, match="an id like 'bird 0'"):
        fitted.explain("bird 0", "dog 3")
    fitted.partial_fit(constraints=Constraints.from_labels(Y, 20, random_state=1))
    assert fitted.explain("bird 0", "bird 3").rows == (0, 3)
    plain = GuidedClustering(3, random_state=0).fit(FRAME.reset_index(drop=True))
    with pytest.raises(InvalidParameterError, match="neither the answers nor the data have ids"):
        plain.explain("bird 0", "bird 3")


def test_matched_rows_stay_a_data_frame_when_answers_are_added():
    """`partial_fit` fits records anew, and keeps how the table was read."""
    random = np.random.RandomState(0)
    letters = np.array(list("abcdefghiklmnoprstuvw"))
    names = ["".join(random.choice(letters, 14)) for _ in range(30)]
    frame = pd.DataFrame(
        {"name": [one for name in names for one in (name, name[:5] + name[6:])]},
        index=[f"r{at}" for at in range(60)],
    )
    model = GuidedClustering(random_state=0).fit(frame)
    assert model.regime_ == "identities"
    model.partial_fit(constraints=Constraints.from_pairs(must_link=[(0, 1)], n_samples=60))
    assert (model.predict(frame) == model.labels_).all()
    assert model.explain("r0", "r1").are_together


@pytest.mark.slow
def test_gaps_in_new_rows_of_a_table_without_gaps():
    """Refused with what is true of a data frame; fitted with gaps elsewhere, they are predicted."""
    gaps = WINE.data.copy()
    gaps.iloc[3, 0] = np.nan
    model = GuidedClustering(3, random_state=0).fit(WINE.data)
    with pytest.raises(InvalidDataError, match=r"NaN in row 3, column 'alcohol'.* without gaps"):
        model.predict(gaps)
    has_gap = WINE.data.copy()
    has_gap.iloc[7, 4] = np.nan
    model.fit(has_gap)
    assert model.predict(gaps)[3] == model.labels_[3]
