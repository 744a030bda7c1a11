"""mypy on code that uses clew: the README passes, a misspelled attribute does not."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow

USES = """
import numpy as np
import clew
from clew import Constraints
from clew.cluster import DCRC, GuidedClustering, KernelKMeans
from clew.similarity import COPRF, ITML
X, answers = np.eye(9), Constraints(9)
"""
MISUSES = {
    "GuidedClustering().fit(X).lables_": 'has no attribute "lables_"',
    "DCRC(3).fit(X, constraints=answers).probabilites_": 'has no attribute "probabilites_"',
    "KernelKMeans(3).fit(X).cluster_center_": 'has no attribute "cluster_center_"',
    "ITML().fit(X).metrics_": 'has no attribute "metrics_"',
    "clew.GuidedClustering().fit(X).lables_": 'has no attribute "lables_"',
    "clew.cluster.GuidedClustering().fit(X).lables_": 'has no attribute "lables_"',
    "clew.clusters": 'has no attribute "clusters"',
    "GuidedClustering().fit(X, answers)": "Argument 2",
    "GuidedClustering().fit_predict(X, constraint=answers)": "Unexpected keyword",
    "KernelKMeans(3).fit(X, constraints=answers)": "Unexpected keyword",
}


def complaints(code: str, folder: Path) -> list[str]:
    """The output of ``mypy --strict`` for code, without the names of files."""
    path = folder / "use.py"
    path.write_text(code, encoding="utf-8")
    said, wrong, _ = api.run([
        "--strict", "--follow-imports=silent", f"--config-file={ROOT / 'pyproject.toml'}",
        f"--cache-dir={ROOT / '.mypy_cache'}", str(path),
    ])  # fmt: skip
    assert wrong == ""
    return re.findall(r"error: (.*)", said)


def test_the_readme_passes(tmp_path):
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    assert blocks
    assert complaints("\n".join(blocks), tmp_path) == []


def test_correct_code_passes(tmp_path):
    right = """
labels = DCRC(3).fit_predict(X, constraints=answers)
print(labels.max(), COPRF().fit_transform(X, constraints=answers).shape)
print(clew.cluster.GuidedClustering(3).fit(X).labels_, clew.similarity.COPRF())
print(clew.metrics.n_violated(labels, answers), clew.exceptions.ClewError, clew.trust, clew.tables)
print(COPRF().set_fit_request(constraints=True).set_output(transform="pandas").get_params())
"""
    assert complaints(USES + right, tmp_path) == []


def test_misspelled_names_are_reported(tmp_path):
    found = complaints(USES + "\n".join(MISUSES), tmp_path)
    assert len(found) == len(MISUSES)
    for complaint, expected in zip(found, MISUSES.values(), strict=True):
        assert expected in complaint
