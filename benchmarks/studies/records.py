"""Duplicates in two made tables beside dedupe and Splink, and in records that people compared."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks._environments import PackageError, run_in_environment
from benchmarks.studies._human import MajorityClosure, load
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import tag_of
from benchmarks.study.problems import Problem
from benchmarks.study.report import Report, Table
from clew import Constraints
from clew.cluster import GuidedClustering
from clew.metrics import adjusted_rand_score
from clew.tables import RecordFeatures

Random = np.random.RandomState


#: Words of the made tables.
ADJECTIVES, PLACES, PEOPLE, STREETS, KINDS, CITIES, CUISINES, BRANDS, THINGS, COLORS = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
).values()


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


MADE = ("restaurants", "products")
HUMAN = ("crowder_restaurant", "crowder_restaurant_qt", "crowder_product_qt")
N_ANSWERS, ERROR = 150, 0.05
#: Cuts of the three-line baseline; the first is the usual one.
CUTS = (0.5, 0.3, 0.4, 0.6, 0.7)

Labels = NDArray[np.int64]


class Drawn(NamedTuple):
    """A made table, its subjects and answers about its rows."""

    frame: pd.DataFrame
    truth: Labels
    pairs: NDArray[np.int64]
    is_same: NDArray[np.bool_]

    @property
    def answers(self) -> Constraints:
        table = np.column_stack([self.pairs, self.is_same])
        return Constraints(len(self.frame), pairs=table)


@lru_cache(maxsize=1)
def drawn(name: str, seed: int) -> Drawn:
    frame, truth = table_of(name, seed)
    return Drawn(frame, truth, *asked_pairs(_cosine(frame), truth, N_ANSWERS, ERROR, seed))


def _cosine(frame: pd.DataFrame) -> NDArray[np.float64]:
    texts = frame.fillna("").agg(" ".join, axis=1)
    weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(texts)
    return np.asarray((weights @ weights.T).toarray())


Found = tuple[list[Labels], float | None]  # Seconds, if the clock of this process has not them


def linked(of: Drawn, seed: int) -> Found:
    distance = np.maximum(1.0 - _cosine(of.frame), 0.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    return [np.asarray(fcluster(tree, cut, "distance"), np.int64) for cut in CUTS], None


def fitted(frame: pd.DataFrame, answers: Constraints) -> Found:
    X = RecordFeatures().fit_transform(frame)
    return [GuidedClustering(random_state=0).fit(X, constraints=answers).labels_], None


def _of_peer(package: str) -> Callable[[Drawn, int], Found]:
    def run(of: Drawn, seed: int) -> Found:
        data = {
            "values": of.frame.fillna("").to_numpy().astype(str),
            "names": np.array(list(of.frame.columns)),
            "pairs": of.pairs,
            "is_same": of.is_same,
        }
        found, arrays = run_in_environment(package, f"benchmarks._peers:{package}", data, seed=seed)
        return list(arrays["labels"]), float(found["seconds"])

    return run


@dataclass(frozen=True)
class Method:
    """Returns groups, of which the best ones count."""

    name: str
    run: Callable[[Drawn, int], Found]
    uses_answers: bool = True


CLEW = Method("clew", lambda of, seed: fitted(of.frame, of.answers))
CLOSURE = Method("majority and closure", linked)  # of answers alone
METHODS = (
    Method("average linkage, cut at 0.5", lambda of, seed: (linked(of, seed)[0][:1], None)),
    Method("average linkage, best cut in hindsight", linked),
    Method("clew, no answers", lambda of, seed: fitted(of.frame, Constraints(len(of.frame)))),
    CLEW,
    Method("dedupe", _of_peer("dedupe")),
    Method("Splink, best threshold in hindsight", _of_peer("splink")),
)


class Cell(NamedTuple):
    name: str


ASKED, PEOPLE_ASKED = Cell(f"{N_ANSWERS} answers, {ERROR:.0%} wrong"), Cell("answers of people")


@dataclass(frozen=True)
class RecordsStudy(Study):
    n_trials: int = 3
    sets: tuple[str, ...] = (*MADE, *HUMAN)
    stem: str = "records"

    def problem(self, name: str) -> Problem:
        n = load(name, 0).n if name in HUMAN else 0  # raises where the data are not at hand
        return Problem(name, np.eye(n), np.arange(n))

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        if name in HUMAN:
            return [(method, PEOPLE_ASKED) for method in (CLEW, CLOSURE)]
        return [(method, ASKED) for method in METHODS]

    def trials_of(self, name: str, method: Method) -> int:
        return 1 if name in HUMAN else self.n_trials

    def version(self, method: Method) -> str:
        return tag_of(method.name, N_ANSWERS, ERROR, CUTS)

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, _, trial = task
        if name in HUMAN:
            people = load(name, 0)
            known, truth = people.constraints(), people.classes["entity"]
            model = GuidedClustering(random_state=0) if method == CLEW else MajorityClosure()
            start = process_time()
            labels, seconds = [model.fit(constraints=known).labels_], None
            sizes = {"rows": known.n_samples, "answers": len(known)}
        else:
            of = drawn(name, trial)
            truth, sizes, start = of.truth, {}, process_time()
            try:
                labels, seconds = method.run(of, trial)
            except PackageError as error:
                return {"failure": str(error)[:200]}
        spent = process_time() - start if seconds is None else seconds
        scores = [float(adjusted_rand_score(truth, each)) for each in labels]
        n_groups = len(np.unique(labels[int(np.argmax(scores))]))
        return {"ari": max(scores), "groups": n_groups, "fit_seconds": spent, **sizes}


class RecordsReport(Report[RecordsStudy]):
    def tables(self) -> Table:
        rows = []
        for name in (name for name in self.sets if name in MADE):
            for method in METHODS:
                ari, groups, seconds, failures = (
                    self.results.values(name, ASKED, method, field)
                    for field in ("ari", "groups", "fit_seconds", "failure")
                )
                texts = [next(iter(failures), "–"), "–", "–", "–"]
                if len(ari):
                    texts = [f"{ari.mean():.3f}", f"{ari.min():.3f}", f"{groups.mean():,.0f}"]
                    texts.append(f"{seconds.median():.1f}")
                rows.append([name, method.name, *texts])
        return Table(["table", "method", "ARI", "lowest", "groups", "s"], rows)

    def answers(self) -> Table:
        rows = []
        for name in (name for name in self.sets if name in HUMAN):
            fields = (("rows", ",.0f"), ("answers", ",.0f"), ("ari", ".3f"), ("fit_seconds", ".1f"))
            n, m, ours, seconds = (
                f"{self.results.values(name, PEOPLE_ASKED, CLEW, field).mean():{form}}"
                for field, form in fields
            )
            rows.append(
                [name, n, m, ours, self.results.score(name, PEOPLE_ASKED, CLOSURE), seconds]
            )
        header = ["records", "rows", "answers", "clew", "majority and closure", "clew s"]
        return Table(header, rows)


QUICK = RecordsStudy(1, ("products", HUMAN[0]), "records_quick", True)
command = study_command(RecordsStudy(), RecordsReport, __file__, QUICK, "One table, one trial")
