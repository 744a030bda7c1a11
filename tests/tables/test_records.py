"""Tables of records as character n-grams, and which columns hold codes in place of numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from clew.exceptions import InvalidDataError
from clew.tables import RecordFeatures, TableFeatures, read_table
from clew.tables._records import may_be_records

PLACES = pd.DataFrame(
    {
        "name": ["Café Bizou", "cafe bizou", "Arnie Morton's", "Arnie Mortons", "Hotel Bel-Air"],
        "phone": ["818/788-3536", "+1 (818) 788 3536", "3102461501", "310-246-1501", None],
        "postcode": [90210, 90210, 10001, 10001, 60601],
        "stars": [4.5, 4.0, 3.5, 3.0, 5.0],
    }
)


def _cosine(X) -> np.ndarray:
    return (X @ X.T).toarray()


def test_rows_with_the_same_characters_are_near():
    cosine = _cosine(RecordFeatures().fit_transform(PLACES))
    assert cosine[0, 1] == pytest.approx(1)  # accents, case and the format of phones do not matter
    assert cosine[2, 3] > 0.9
    assert cosine[[0, 0, 2], [2, 4, 4]].max() < 0.3


def test_measurements_and_row_numbers_are_not_used():
    table = PLACES.assign(row=np.arange(5))
    recipe = RecordFeatures().fit(table)
    uses = {column.name: column.use for column in recipe.columns_}
    assert uses == {
        "name": "text", "phone": "text", "postcode": "text", "stars": "dropped", "row": "dropped"
    }  # fmt: skip
    assert recipe.transform(table).shape == (5, recipe.n_features_out_)
    assert len(recipe.get_feature_names_out()) == recipe.n_features_out_


def test_new_rows_are_mapped_alike():
    recipe = clone(RecordFeatures(max_n=3)).fit(PLACES)
    both = recipe.transform(PLACES.iloc[[3, 0]][["phone", "name", "postcode", "stars", "name"][:4]])
    assert abs(both - recipe.transform(PLACES)[[3, 0]]).max() < 1e-12
    with pytest.raises(InvalidDataError, match="no column 'name'"):
        recipe.transform(PLACES[["phone", "postcode", "stars"]])


def test_nothing_to_compare_is_refused():
    with pytest.raises(InvalidDataError, match="no column can be used"):
        RecordFeatures().fit(PLACES[["stars"]])
    with pytest.raises(InvalidDataError, match="max_n=1"):
        RecordFeatures(max_n=1).fit(PLACES)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (PLACES, True),
        (PLACES[["name"]], True),
        (PLACES.drop(columns="name"), False),
        (PLACES.assign(a=[0.5, 1, 2, 3, 9], b=[1, 5, 2, 8, 1], c=[1, 1, 2, 5, 7]), False),
        (PLACES[["name", "stars"]].assign(width=[1.5, 2, 3, 4, 5]), False),
    ],
)
def test_records_have_a_column_that_names_rows_and_few_measurements(table, expected):
    assert may_be_records(table) is expected


def test_codes_in_files_keep_leading_zeros(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("key,zip,size\n007,02134,1\n010,00501,2\n300,,3\n007,02134,7\n")
    frame = read_table(path).frame
    assert frame["key"].tolist() == ["007", "010", "300", "007"]
    assert frame["zip"].tolist()[:2] == ["02134", "00501"]
    assert frame["zip"].isna().tolist() == [False, False, True, False]
    uses = {use.name: use.use for use in TableFeatures().fit(frame).columns_}
    assert uses == {"key": "category", "zip": "category", "size": "number"}


def test_a_few_postcodes_with_letters_are_no_error():
    codes = [*range(10_000, 10_030), "10001-1234"]
    table = pd.DataFrame({"postal_code": codes * 2, "size": np.arange(62.0) ** 2})
    uses = {use.name: use.use for use in TableFeatures().fit(table).columns_}
    assert uses == {"postal_code": "category", "size": "number"}


@pytest.mark.parametrize("name", ["cell", "headphones", "posts", "zipper", "telling", "cap"])
def test_other_names_are_no_codes(name):
    table = pd.DataFrame({name: [1, 5, 3, 8, 2], "size": [1.5, 2, 3, 4, 9]})
    assert TableFeatures().fit(table).columns_[0].use == "number"
