"""A project is found from below, and keeps the vectors that people gave."""

import numpy as np
import pytest

from clew.collections import Project
from clew.exceptions import FileFormatError, InvalidDataError, ProjectNotFoundError


def test_found_from_below(tmp_path):
    made = Project.create(tmp_path / "birds", name='a "b"\\ü')
    (tmp_path / "birds" / "sea" / "deep").mkdir(parents=True)
    found = Project.find(tmp_path / "birds" / "sea" / "deep")
    assert found == made
    assert Project.open(tmp_path / "birds" / ".clew") == made
    assert found.root == tmp_path / "birds"


def test_media_elsewhere(tmp_path):
    (tmp_path / "photos").mkdir()
    made = Project.create(tmp_path / "work", media=tmp_path / "photos")
    assert Project.find(tmp_path / "work").root == tmp_path / "photos"
    (tmp_path / "photos").rename(tmp_path / "gone")
    assert made.root == tmp_path / "photos"


def test_none_and_twice(tmp_path):
    with pytest.raises(ProjectNotFoundError, match="clew init"):
        Project.find(tmp_path)
    with pytest.raises(ProjectNotFoundError, match="clew init"):
        Project.open(tmp_path)
    Project.create(tmp_path)
    with pytest.raises(FileExistsError, match="clew add"):
        Project.create(tmp_path)


@pytest.mark.parametrize("text", ["name = 3\n", "name = \n"])
def test_damaged_settings_name_the_file(tmp_path, text):
    Project.create(tmp_path).folder.joinpath("settings.toml").write_text(text)
    with pytest.raises(FileFormatError, match=r"settings\.toml"):
        Project.open(tmp_path)


def test_vectors(tmp_path):
    project = Project.create(tmp_path)
    assert project.vectors(["a"]) is None
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    project.add_vectors(["a", "b", "c"], X)
    mapped = project.vectors(["a", "b", "c"])
    assert isinstance(mapped, np.memmap)
    assert np.array_equal(mapped, X)
    project.add_vectors(["d", "b"], X[:2] + 10)
    assert project.vectors(["d", "c", "b", "a"]).tolist() == [[10, 11], [4, 5], [12, 13], [0, 1]]
    with pytest.raises(InvalidDataError, match="1 of 2 items have no vectors, such as 'x'"):
        project.vectors(["a", "x"])
    with pytest.raises(InvalidDataError, match="3 features, those before 2"):
        project.add_vectors(["e"], np.ones((1, 3)))


def test_distances(tmp_path):
    project = Project.create(tmp_path)
    assert project.distances(["a"]) is None
    D = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    project.set_distances(["a", "b", "c"], D)
    assert project.distances(["c", "a"]).tolist() == [[0, 2], [2, 0]]
    with pytest.raises(InvalidDataError, match="no distances"):
        project.distances(["a", "x"])
