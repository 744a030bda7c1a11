"""`clew group` on a table in which several rows describe the same thing."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.cli.projects import clew

pytestmark = pytest.mark.usefixtures("small_search")

STREETS = ("Oak", "Main", "Sunset", "Mission", "Spring", "Canal", "Hudson", "Melrose")
CITIES = ("New York", "Los Angeles", "Boston", "Chicago")
SYLLABLES = ("ba", "co", "di", "fu", "gra", "lo", "mi", "ne", "po", "ri", "sta", "tu", "ve", "zo")


@pytest.fixture
def places(here: Path) -> pd.DataFrame:
    """Write a table of 240 rows about 120 places; return it with the place of each row."""
    random = np.random.RandomState(0)
    rows = []
    for place in range(120):
        name = "".join(random.choice(SYLLABLES, 3)) + " " + "".join(random.choice(SYLLABLES, 3))
        number, street = random.randint(1, 3000), random.choice(STREETS)
        phone = f"{random.randint(200, 999)}{random.randint(10**6, 10**7):07d}"
        city, zipcode = random.choice(CITIES), f"0{random.randint(1000, 9999)}"
        at = random.randint(1, len(name))
        rows += [
            (place, name, f"{number} {street} Street", phone, city, zipcode),
            (place, (name[:at] + name[at + 1 :]).title(), f"{number} {street} st.",
             f"({phone[:3]}) {phone[3:6]}-{phone[6:]}", city, "" if place % 3 else zipcode),
        ]  # fmt: skip
    columns = ["place", "name", "address", "phone", "city", "postcode"]
    table = pd.DataFrame(rows, columns=columns).sample(frac=1, random_state=0, ignore_index=True)
    table.insert(0, "id", [f"r{row}" for row in range(len(table))])
    table.drop(columns="place").to_csv("places.csv", index=False)
    return table


def _labels(path: Path) -> list[int]:
    with path.open(encoding="utf-8") as file:
        return [int(row["group"]) for row in csv.DictReader(file)]


@pytest.mark.slow
def test_duplicates_are_found_and_the_regime_is_said(here, run, places):
    done = run("places.csv", "-o", "g.csv", fast=False)
    assert done.exit_code == 0, done.output
    assert "many small groups: records of the same thing?" in done.stderr
    assert adjusted_rand_score(places["place"], _labels(here / "g.csv")) > 0.97


@pytest.mark.slow
def test_answers_are_followed_and_wrong_ones_named(here, run, places):
    ids, place = places["id"], places["place"].to_numpy()
    same = np.argwhere(np.triu(place[:, None] == place, 1))[:30]
    lines = [f"pair,{ids[i]},{ids[j]},{'different' if at == 7 else 'same'}"
             for at, (i, j) in enumerate(same.tolist())]  # fmt: skip
    lines += [
        f"pair,{ids[i]},{ids[i + 1]},different" for i in range(30) if place[i] != place[i + 1]
    ]
    Path("answers.csv").write_text("\n".join(["kind,id_i,id_j,answer", *lines]), encoding="utf-8")
    done = run(
        "places.csv", "--answers", "answers.csv", "-o", "g.csv", "--report", "r.html",
        "--save", "s.npz", fast=False,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert adjusted_rand_score(place, _labels(here / "g.csv")) > 0.97
    doubted = pd.read_csv("g.doubtful.csv")
    assert [*map(tuple, doubted[["i", "j"]].to_numpy())] == [tuple(same[7].tolist())]


@pytest.mark.slow
def test_a_small_number_of_groups_groups_by_columns(here, run, places):
    done = run("places.csv", "-k", 4, "-o", "g.csv", fast=False)
    assert done.exit_code == 0, done.output
    assert "many small groups" not in done.stderr
    assert len(set(_labels(here / "g.csv"))) == 4


def test_lines_of_text_are_compared_by_characters(here, run, places):
    Path("names.txt").write_text("\n".join(places["name"]), encoding="utf-8")
    done = run("names.txt", "-o", "g.csv", fast=False)
    assert done.exit_code == 0, done.output
    assert "many small groups: records of the same thing?" in done.stderr
    assert adjusted_rand_score(places["place"], _labels(here / "g.csv")) > 0.9


@pytest.mark.slow
def test_a_project_recognizes_them_and_says_so(here, places):
    assert clew("init", "p", "--from", "places.csv").exit_code == 0
    done = clew("group", "-p", "p", "-o", "g.csv")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("many small groups: records of the same thing?") == 1
    assert adjusted_rand_score(places["place"], _labels(here / "g.csv")) > 0.97
    done = clew("ask", "-p", "p", "-n", 1, "--annotator", "ann", input="same\n")
    assert "many small groups: records of the same thing?" in done.stderr
    done = clew("group", "-p", "p", "-k", 4)
    assert "many small groups" not in done.stderr
    assert "categories: city" in done.stderr
    assert "groups: 4" in done.stdout


@pytest.mark.slow
def test_people_are_asked_about_records(here, places):
    done = clew("ask", "places.csv", "--answers", "a.jsonl", "-n", 3, input="same\n" * 3)
    assert done.exit_code == 0, done.output
    assert "many small groups: records of the same thing?" in done.stderr
    assert len((here / "a.jsonl").read_text().splitlines()) == 3
