"""``python -m benchmarks.records``: duplicates in two made tables, and records of real answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks import _harness as harness
from benchmarks._environments import PackageError, run_in_environment
from benchmarks.studies._human import load
from clew import Constraints
from clew.cluster import GuidedClustering
from clew.exceptions import DatasetNotFoundError
from clew.metrics import adjusted_rand_score
from clew.tables import RecordFeatures

Random = np.random.RandomState


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADJECTIVES = _words("""
golden red blue royal grand little old new lucky happy jade silver sunset ocean river garden
corner village city park hill lake green white black sweet spicy smoky rustic urban liberty star
moon sun dragon lotus bamboo olive maple cedar rose lily ruby pearl crystal amber copper iron
stone brick harbor bay island coast prairie desert canyon summit valley meadow orchard
""")
PLACES = _words("""
kitchen grill cafe bistro trattoria palace house garden diner tavern cantina pizzeria steakhouse
bakery deli brasserie room table oven wok bowl noodle sushi taqueria barbecue seafood oyster bar
pub lounge terrace cellar pantry spoon market corner inn
""")
PEOPLE = _words("""
anderson arnaud bernard campanile carmine daniel delmonico diaz fischer francis gallagher gomez
hernandez ivanov jackson kim kowalski lee lombardi maguire martinez nakamura nguyen olsen patel
petrov quinn rossi sanchez schmidt silva stein tanaka torres valentino weber
""")
STREETS = _words("""
oak park washington lincoln madison jefferson franklin elm maple pine cedar lake hill church
spring walnut broadway mission valencia sunset wilshire melrose beverly figueroa columbus
lexington houston bleecker mulberry canal hudson greenwich peachtree piedmont magazine
""")
KINDS = (
    ("street", "st"),
    ("avenue", "ave"),
    ("boulevard", "blvd"),
    ("road", "rd"),
    ("drive", "dr"),
)
CITIES = (
    ("new york", "nyc", "10", "212"), ("los angeles", "la", "90", "213"),
    ("san francisco", "sf", "94", "415"), ("atlanta", "atl", "30", "404"),
    ("las vegas", "vegas", "89", "702"), ("new orleans", "nola", "70", "504"),
    ("chicago", "chi", "60", "312"), ("boston", "bos", "02", "617"),
)  # fmt: skip
CUISINES = (
    ("italian", "ital"), ("french", "french (new)"), ("american", "american (new)"),
    ("mexican", "tex-mex"), ("chinese", "cantonese"), ("japanese", "sushi"), ("seafood", "fish"),
    ("steakhouses", "steak"), ("thai", "asian"), ("bbq", "barbecue"), ("delis", "deli"),
)  # fmt: skip
BRANDS = _words("""
sony canon nikon panasonic samsung bose garmin logitech epson lenovo toshiba philips jvc sharp
netgear kenwood
""")
THINGS = (
    ("digital camera", "camera"), ("lcd television", "hdtv"), ("headphones", "headset"),
    ("laser printer", "printer"), ("wireless router", "router"), ("blu-ray player", "bd player"),
    ("car speaker", "speakers"), ("memory card", "flash card"), ("microwave oven", "microwave"),
    ("gps navigator", "gps"), ("laptop computer", "notebook"), ("cordless phone", "telephone"),
)  # fmt: skip
COLORS = ("black", "white", "silver", "red", "blue")


def table_of(name: str, seed: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return 1,500 rows about 906 restaurants, or 1,200 about 800 products, and their subjects."""
    random = Random(seed)
    n_things, n_rows = (906, 1_500) if name == "restaurants" else (800, 1_200)
    make, write = (_restaurant, _written) if name == "restaurants" else (_product, _offered)
    things = [make(random) for _ in range(n_things)]
    which = np.concatenate([np.arange(n_things), random.choice(n_things, n_rows - n_things)])
    which = random.permutation(which)
    rows = pd.DataFrame([write(things[at], random) for at in which.tolist()])
    return rows.map(lambda value: value.strip() or None), which


def _restaurant(random: Random) -> dict[str, Any]:
    first, person = random.choice(ADJECTIVES), random.choice(PEOPLE)
    place = random.choice(PLACES)
    names: tuple[str, ...] = (
        f"{first} {place}",
        f"{person}'s {place}",
        f"the {first} {random.choice(ADJECTIVES)} {place}",
    )
    names += f"{person} & {random.choice(PEOPLE)}", f"{first} {person} {place}"
    city = random.randint(len(CITIES))
    return {
        "name": random.choice(names), "number": random.randint(1, 9999),
        "street": random.choice(STREETS), "kind": random.randint(len(KINDS)), "city": city,
        "postcode": f"{CITIES[city][2]}{random.randint(1000):03d}",
        "phone": f"{CITIES[city][3]}{random.randint(200, 999)}{random.randint(10_000):04d}",
        "cuisine": random.randint(len(CUISINES)),
    }  # fmt: skip


def _written(thing: dict[str, Any], random: Random) -> dict[str, str]:
    """Write a restaurant down, with typing errors, abbreviations and gaps."""
    name = _misspelled(thing["name"], random, 0.4)
    words = name.split()
    if random.rand() < 0.15:
        name = " ".join(random.permutation(words))
    elif random.rand() < 0.15 and len(words) > 1:
        name = " ".join(words[:-1])
    if random.rand() < 0.15:
        name += f" {random.choice(['restaurant', 'cafe', 'inc', 'downtown'])}"
    name = name.title() if random.rand() < 0.3 else name
    street = _misspelled(thing["street"], random, 0.12)
    kind = KINDS[thing["kind"]][random.randint(2)] if random.rand() < 0.85 else ""
    extra = random.choice([" suite 100", " 2nd fl.", " at 5th ave."]) if random.rand() < 0.1 else ""
    phone = thing["phone"]
    phone = f"{phone[:-2]}{random.randint(100):02d}" if random.rand() < 0.05 else phone
    a, b, c = phone[:3], phone[3:6], phone[6:]
    city, cuisine = CITIES[thing["city"]], CUISINES[thing["cuisine"]]
    return {
        "name": name,
        "address": _or_nothing(f"{thing['number']} {street} {kind}{extra}", random, 0.06),
        "city": _or_nothing(city[int(random.rand() < 0.15)], random, 0.06),
        "phone": _or_nothing(
            random.choice([phone, f"{a}-{b}-{c}", f"({a}) {b}-{c}", f"{a}/{b}-{c}"]), random, 0.25
        ),
        "postcode": _or_nothing(thing["postcode"], random, 0.2),
        "cuisine": _or_nothing(cuisine[int(random.rand() < 0.3)], random, 0.12),
    }


def _product(random: Random) -> dict[str, Any]:
    letters = "".join(random.choice(list("ABCDEFGHKLMNPRSTVWXZ"), random.randint(2, 4)))
    return {
        "brand": random.choice(BRANDS), "thing": random.randint(len(THINGS)),
        "model": f"{letters}{random.randint(10, 9999)}", "color": random.choice(COLORS),
        "size": random.choice([f"{random.randint(2, 60)}-inch", f"{random.randint(1, 64)}GB", ""]),
        "price": random.randint(20, 900),
    }  # fmt: skip


def _offered(thing: dict[str, Any], random: Random) -> dict[str, str]:
    """Write a product as a shop does: parts in any order, some left out."""
    model = thing["model"]
    if random.rand() < 0.3:
        at = next(at for at, letter in enumerate(model) if letter.isdigit())
        model = f"{model[:at]}-{model[at:]}"
    parts = [
        _misspelled(thing["brand"], random, 0.1),
        _misspelled(THINGS[thing["thing"]][random.randint(2)], random, 0.15),
        *([model] if random.rand() < 0.9 else []),
        *([thing["size"]] if random.rand() < 0.7 else []),
        *([thing["color"]] if random.rand() < 0.6 else []),
    ]
    if random.rand() < 0.4:
        parts = random.permutation(parts).tolist()
    title = " ".join(filter(None, parts))
    price = f"{thing['price'] * random.uniform(0.9, 1.1):.2f}"
    return {
        "title": title.title() if random.rand() < 0.4 else title,
        "brand": _or_nothing(thing["brand"], random, 0.3),
        "price": _or_nothing(price, random, 0.3),
    }


def _misspelled(text: str, random: Random, probability: float) -> str:
    while random.rand() < probability and len(text) > 3:
        at, letter = random.randint(1, len(text) - 1), chr(97 + random.randint(26))
        text = random.choice([
            text[:at] + text[at + 1 :], text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
            text[: at - 1] + text[at] + text[at - 1] + text[at + 1 :],
        ])  # fmt: skip
    return text


def _or_nothing(text: str, random: Random, probability: float) -> str:
    return "" if random.rand() < probability else text


def asked_pairs(
    cosine: NDArray[np.float64], truth: NDArray[np.int64], n: int, error: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Ask whether rows and near ones are the same; a share of the answers, (n,), is wrong."""
    random = Random(seed)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < n:
        row = random.randint(len(truth))
        nearest = np.argsort(-cosine[row], kind="stable")
        other = nearest[nearest != row][min(random.geometric(0.5) - 1, 8)]
        pairs.add((min(row, other), max(row, other)))
    rows = random.permutation(np.array(sorted(pairs)))
    is_same = truth[rows[:, 0]] == truth[rows[:, 1]]
    is_same[: round(error * n)] ^= True
    return rows, is_same


SETS = ("restaurants", "products")
N_ANSWERS, ERROR = 150, 0.05
#: Cuts of the three-line baseline; the first is the usual one.
CUTS = (0.5, 0.3, 0.4, 0.6, 0.7)
HUMAN = ("crowder_restaurant", "crowder_restaurant_qt", "crowder_product_qt")
REPORT = Path(__file__).with_suffix(".md")

Labels = NDArray[np.int64]


@click.command()
@click.option("--seeds", default=3, show_default=True, help="Number of tables of each kind.")
def main(seeds: int) -> None:
    """Measure, print the tables and write them to benchmarks/results/records.md."""
    about = harness.provenance()
    runs = [run for name in SETS for seed in range(seeds) for run in measured(name, seed)]
    human = [row for name in HUMAN if (row := of_answers_alone(name)) is not None]
    content = {"about": about, "tables": runs, "answers": human}
    text = json.dumps(content, indent=1) + "\n"
    harness.write_text(harness.RESULTS / "records.json", text)
    page = REPORT.read_text(encoding="utf-8").format(
        about=harness.described(about), seeds=seeds, tables=_table(runs), answers=_human(human)
    )
    harness.write_text(harness.RESULTS / "records.md", page)
    click.echo(page)


def measured(name: str, seed: int) -> list[dict[str, Any]]:
    """Group a made table by each method; return agreement, number of groups and seconds."""
    frame, truth = table_of(name, seed)
    cosine = _cosine(frame)
    pairs, is_same = asked_pairs(cosine, truth, N_ANSWERS, ERROR, seed)
    answers = Constraints.from_pairs(
        must_link=pairs[is_same], cannot_link=pairs[~is_same], n_samples=len(frame)
    )
    data = {
        "values": frame.fillna("").to_numpy().astype(str),
        "names": np.array(list(frame.columns)),
        "pairs": pairs,
        "is_same": is_same,
    }
    methods: dict[str, Callable[[], Any]] = {
        "average linkage, cut at 0.5": lambda: _linkage(frame)[:1],
        "average linkage, best cut in hindsight": lambda: _linkage(frame),
        "clew, no answers": lambda: _clew(frame, Constraints(len(frame))),
        "clew": lambda: _clew(frame, answers),
        "dedupe": lambda: _of_peer("dedupe", data, seed),
        "Splink, best threshold in hindsight": lambda: _of_peer("splink", data, seed),
    }
    rows = []
    for method, fit in methods.items():
        start = time.process_time()
        row: dict[str, Any] = {"set": name, "seed": seed, "method": method}
        try:
            found = fit()
        except PackageError as error:
            row["failure"] = str(error)[:200]
        else:
            seconds = time.process_time() - start
            if isinstance(found, tuple):
                found, seconds = found
            scores = [float(adjusted_rand_score(truth, labels)) for labels in found]
            best = int(np.argmax(scores))
            row |= {"ari": scores[best], "groups": len(np.unique(found[best])), "s": seconds}
        print(row, flush=True)
        rows.append(row)
    return rows


def _cosine(frame: pd.DataFrame) -> NDArray[np.float64]:
    texts = frame.fillna("").agg(" ".join, axis=1)
    weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(texts)
    return np.asarray((weights @ weights.T).toarray())


def _linkage(frame: pd.DataFrame) -> list[Labels]:
    distance = np.maximum(1.0 - _cosine(frame), 0.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    return [np.asarray(fcluster(tree, cut, "distance"), np.int64) for cut in CUTS]


def _clew(frame: pd.DataFrame, answers: Constraints) -> list[Labels]:
    X = RecordFeatures().fit_transform(frame)
    return [GuidedClustering(random_state=0).fit(X, constraints=answers).labels_]


def _of_peer(package: str, data: dict[str, Any], seed: int) -> tuple[list[Labels], float]:
    """Return the groups and the seconds without those of starting another process."""
    found, arrays = run_in_environment(package, f"benchmarks._peers:{package}", data, seed=seed)
    return list(arrays["labels"]), float(found["seconds"])


def of_answers_alone(name: str) -> dict[str, Any] | None:
    """Group records whose texts are not public, by the answers of people alone."""
    try:
        people = load(name, 0)
    except DatasetNotFoundError as error:  # the data are not part of the project
        print(error)
        return None
    known, truth = people.constraints(), people.classes["entity"]
    start = time.process_time()
    model = GuidedClustering(random_state=0).fit(constraints=known)
    seconds = time.process_time() - start
    return {
        "set": name,
        "rows": known.n_samples,
        "answers": len(known),
        "clew": float(adjusted_rand_score(truth, model.labels_)),
        "closure": float(adjusted_rand_score(truth, _closure_of_majority(known))),
        "s": seconds,
    }


def _closure_of_majority(known: Constraints) -> Labels:
    """Join the rows that most answers call the same."""
    n, pairs = known.n_samples, np.sort(known.pairs, axis=1)
    key, question = np.unique(pairs @ np.array([n, 1]), return_inverse=True)
    votes = np.bincount(question, np.where(known.is_must_link, 1.0, -1.0))
    same = key[votes > 0]
    links = coo_array((np.ones(len(same)), (same // n, same % n)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _table(runs: list[dict[str, Any]]) -> str:
    rows = []
    for name in SETS:
        for method in dict.fromkeys(run["method"] for run in runs):
            these = [run for run in runs if (run["set"], run["method"]) == (name, method)]
            fits = [run for run in these if "ari" in run]
            if fits:
                scores = [run["ari"] for run in fits]
                cells = [
                    f"{np.mean(scores):.3f}",
                    f"{min(scores):.3f}",
                    f"{np.mean([run['groups'] for run in fits]):,.0f}",
                    f"{np.median([run['s'] for run in fits]):.1f}",
                ]
            else:
                cells = [these[0]["failure"], "–", "–", "–"]
            rows.append([name, method, *cells])
    return harness.markdown_table(["table", "method", "ARI", "lowest", "groups", "s"], rows)


def _human(rows: list[dict[str, Any]]) -> str:
    cells = [
        [row["set"], f"{row['rows']:,}", f"{row['answers']:,}", f"{row['clew']:.3f}",
         f"{row['closure']:.3f}", f"{row['s']:.1f}"]
        for row in rows
    ]  # fmt: skip
    headings = ["records", "rows", "answers", "clew", "majority and closure", "clew s"]
    return harness.markdown_table(headings, cells) if cells else "The data were not at hand."


if __name__ == "__main__":
    main()
