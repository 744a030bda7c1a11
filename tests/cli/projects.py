"""A project with groups, made without a model, for tests of commands that only read and write."""

from pathlib import Path

from click.testing import CliRunner, Result
from PIL import Image

from clew.answers import Answer, Question
from clew.cli import main
from clew.collections import Project

COLORS = ("firebrick", "navy", "seagreen")
NAMES = [f"{at // 3}/{at}.png" for at in range(9)]


def clew(*arguments: object, **more: object) -> Result:
    """Run clew in this process."""
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="clew", **more)  # type: ignore[arg-type]


def photos(folder: Path) -> Path:
    """Make nine photos of three colors."""
    for at, name in enumerate(NAMES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30 + at), COLORS[at // 3]).save(path)
    return folder


def pair(first: str, second: str, word: str, annotator: str = "ann") -> Answer:
    """Return an answer about two items."""
    return Answer(Question("pair", ids=(first, second)), word, annotator)


def answered(project: Project) -> None:
    """Give a project three answers and three groups, one of them named."""
    with project.open_store() as store:
        store.append(
            [
                pair(NAMES[0], NAMES[1], "same"),
                pair(NAMES[0], NAMES[3], "different"),
                pair(NAMES[4], NAMES[5], "different", "ben"),
            ]
        )
        publish(store)
        store.name_group(1, name="red/birds")


def publish(store: object) -> None:
    """Publish a result in which each folder is a group."""
    ids = store.item_ids()  # type: ignore[attr-defined]
    labels = [int(name[0]) for name in ids]
    body = {
        "ids": ids, "labels": labels, "group_ids": [1 + label for label in labels],
        "confidence": [0.9] * len(ids),
        "exemplars": {"1": [ids[0]], "2": [ids[3]], "3": [ids[6]]}, "doubtful": [],
        "quality": {"jaccard": [0.8, 0.7, 0.9], "n_checks": 12},
        "remaining": {"median": 140, "low": 90, "high": 220},
        "stop": {"is_enough": False, "reason": ""},
        "n_violated": 1, "n_answers": 3,
    }  # fmt: skip
    store.publish(store.last_seq(), body)  # type: ignore[attr-defined]
