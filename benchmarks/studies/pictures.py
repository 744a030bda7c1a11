"""Which features for which pictures: a network for photos, or shapes and colors."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from PIL import Image
from sklearn.cluster import KMeans

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.problems import Floats, Ints
from benchmarks.study.report import Table
from benchmarks.study.results import Results, Score
from clew import Session
from clew.datasets import load, load_pictures
from clew.exceptions import DatasetNotFoundError
from clew.features import extractor
from clew.features._extractor import GRAY
from clew.items import open_image
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle

#: Arrays of gray images, and their sides.
ARRAYS = {"digits": 8, "usps_11000": 16, "pie10_32x32": 32, "olivetti_64x64": 64}
#: Folders of images in CLEW_DATA/pictures, with a folder for each kind.
FOLDERS = ("stamps", "foods", "pieces", "icons", "emoji")
SETS = (*ARRAYS, "pictures", *FOLDERS)
#: Images of a set, drawn at random; numbers of answers; share of wrong ones.
N_IMAGES, AMOUNTS, ERROR = 300, (75, 150, 300), 0.1


class Pictures(NamedTuple):
    """Images with known kinds."""

    images: list[Image.Image]
    y: Ints

    @property
    def is_gray(self) -> bool:
        """Whether shapes are the default for them."""
        small = [np.asarray(image.resize((32, 32)), float) for image in self.images]
        return bool(np.median([np.ptp(pixels, axis=2).mean() for pixels in small]) < GRAY)


@lru_cache(maxsize=1)
def problem(name: str) -> Pictures:
    """Load a set; of a large one, `N_IMAGES` images drawn at random."""
    if name in ARRAYS:
        of = load(name)
        X, side = np.asarray(of.X), ARRAYS[name]
        rows = _drawn(of.y)
        gray = (255 * (X[rows] - X.min()) / (X.max() - X.min())).astype(np.uint8)
        images = [Image.fromarray(each.reshape(side, side)).convert("RGB") for each in gray]
        return Pictures(images, of.y[rows])
    if name == "pictures":
        shipped = load_pictures()
        return Pictures([open_image(shipped.folder / each) for each in shipped.ids], shipped.y)
    folder = Path(os.environ.get("CLEW_DATA", "")) / "pictures" / name
    if not folder.is_dir():
        raise DatasetNotFoundError(f"{folder} does not exist; {__name__}.md says what it holds")
    paths = sorted(path for path in folder.glob("*/*") if path.is_file())
    y = np.unique([path.parent.name for path in paths], return_inverse=True)[1]
    rows = _drawn(y)
    return Pictures([open_image(paths[row], 512) for row in rows], y[rows])


def _drawn(y: Ints) -> Ints:
    return np.sort(np.random.RandomState(0).permutation(len(y))[:N_IMAGES])


@dataclass(frozen=True)
class Way:
    name: str
    label: str
    uses_answers: ClassVar[bool] = True

    def features(self, images: list[Image.Image]) -> Floats:
        by = extractor(self.name, n_jobs=1)
        return by.combine(by.extract(images))


NETWORK, SHAPES = Way("efficientnet-lite0", "network"), Way("shapes", "shapes")
WAYS = (NETWORK, SHAPES)


@dataclass(frozen=True)
class Cell:
    name: str = f"{100 * ERROR:g} % wrong"


CELL = Cell()


@dataclass(frozen=True)
class PicturesStudy(Study):
    n_trials: int = 1
    sets: tuple[str, ...] = SETS
    stem: str = "pictures"
    amounts: tuple[int, ...] = AMOUNTS
    problem = staticmethod(problem)  # type: ignore[assignment]

    def points(self, name: str) -> list[tuple[Way, Cell]]:
        return [(way, CELL) for way in WAYS]

    def version(self, method: Way) -> str:
        return f"{extractor(method.name).version}, {ERROR}, {N_IMAGES}"

    def measure(self, task: Task) -> dict[str, Any]:
        """Score k-means, and the groups of a session after numbers of answers."""
        name, way, _, trial = task
        images, y = problem(name)
        X = way.features(images)
        seed = seed_of("fit", name, trial)
        kmeans = KMeans(len(np.unique(y)), n_init=10, random_state=seed)
        scores = {"kmeans": float(adjusted_rand_score(y, kmeans.fit_predict(X)))}
        session = Session(X, random_state=seed)
        person = SimulatedOracle(
            y, error=ERROR, origin="asked", random_state=seed_of("answers", name, trial)
        )
        for n in range(1, max(self.amounts) + 1):
            for question in session.ask(1):
                session.tell(person.answer(question))
            if n in self.amounts:
                labels = session.result().labels_
                scores[f"after_{n}"] = float(adjusted_rand_score(y, labels))
        return scores


class PicturesReport:
    def __init__(self, results: Results[PicturesStudy]) -> None:
        self.results, self.amounts = results, results.study.amounts
        self.sets = [
            name
            for name in results.study.found_sets
            if all(len(results.values(name, CELL, way, "kmeans")) for way in WAYS)
        ]

    def _score(self, name: str, way: Way, field: str) -> Score:
        return Score.of(self.results.values(name, CELL, way, field))

    def in_short(self) -> str:
        field = f"after_{max(self.amounts)}"
        gaps = []
        for name in self.sets:
            ours, other = (SHAPES, NETWORK) if problem(name).is_gray else (NETWORK, SHAPES)
            gaps.append(self._score(name, ours, field).mean - self._score(name, other, field).mean)
        if not gaps:
            return "Nothing is measured."
        n_best = sum(gap >= 0 for gap in gaps)
        return (
            f"After {max(self.amounts)} answers the default (the network for color pictures, "
            f"shapes for gray ones) is the better of the two on {n_best} of {len(gaps)} sets; its "
            f"ARI minus the other's is {np.mean(gaps):+.2f} on average, {min(gaps):+.2f} at worst."
        )

    def scores(self) -> Table:
        fields = {"kmeans": "k-means"} | {f"after_{n}": f"{n} answers" for n in self.amounts}
        rows = []
        for name in self.sets:
            of = problem(name)
            y, is_gray = of.y, of.is_gray
            scores = [
                f"{self._score(name, NETWORK, field).mean:.2f} / "
                f"{self._score(name, SHAPES, field).mean:.2f}"
                for field in fields
            ]
            facts = f"{len(y)} of {len(np.unique(y))} kinds", "gray" if is_gray else "color"
            rows.append([name, *facts, "shapes" if is_gray else "network", *scores])
        return Table(["set", "pictures", "", "default", *fields.values()], rows)


QUICK = PicturesStudy(1, ("pictures",), "pictures_quick", True, amounts=(10, 20))
command = study_command(PicturesStudy(), PicturesReport, __file__, QUICK, "One set, few answers")
