"""An item says what it is; wrong ones are refused with what is allowed."""

import pickle
import subprocess
import sys

import pytest

from clew.exceptions import InvalidDataError
from clew.items import Item


def test_items_with_the_same_content_are_equal_and_survive_pickling() -> None:
    item = Item("a", "row", columns={"size": 3}, meta={"date": "2024-05-01"})
    assert item == Item("a", "row", columns={"size": 3}, meta={"date": "2024-05-01"})
    assert item != Item("a", "row", columns={"size": 4}, meta={"date": "2024-05-01"})
    assert pickle.loads(pickle.dumps(item)) == item
    assert len({item, Item("a", "row", columns={"size": 3}, meta={"date": "2024-05-01"})}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "", "kind": "image"}, "needs an id"),
        ({"id": 3, "kind": "image"}, "needs an id"),
        (
            {"id": "a", "kind": "audio"},
            "kind 'audio' is not one of image, sound, text, row, vector",
        ),
        ({"id": "a", "kind": "text", "path": "t", "region": (0, 1)}, "a text has no region"),
        ({"id": "a", "kind": "image", "region": (0, 0, 5, 5)}, "needs the path"),
        ({"id": "a", "kind": "image", "path": "p", "region": (0, 5)}, "is x, y, width, height"),
        ({"id": "a", "kind": "image", "path": "p", "region": (0, 0, 0, 5)}, "is empty"),
        ({"id": "a", "kind": "image", "path": "p", "region": (0, 0, 5, float("nan"))}, "is x, y"),
        ({"id": "a", "kind": "sound", "path": "p", "region": (3.0, 2.0)}, "is empty"),
        ({"id": "a", "kind": "sound", "path": "p", "region": (-1.0, 2.0)}, "is empty"),
    ],
)
def test_wrong_items_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        Item(**arguments)  # type: ignore[arg-type]


def test_items_are_imported_without_models() -> None:
    heavy = ("sklearn", "numba", "scipy", "pandas", "PIL", "skimage")
    code = f"""
import sys
import clew.exceptions
before = set(sys.modules)
from clew.items import Item
print(sorted({{name.partition(".")[0] for name in set(sys.modules) - before}} & {{*{heavy!r}}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
