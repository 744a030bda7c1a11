"""`clew group` of many rows, whose probabilities are stored in a sparse matrix."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.cli._groups import read_saved

pytestmark = pytest.mark.usefixtures("small_search")


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr("clew.cluster.guided.guided_clustering.ANCHOR_ROWS", 20)


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_tables_report_and_explanation(X, here, answers):
    said = answers("0 1 same", "1 2 same", "2 15 different", "22 23 same", "3 4 same", "5 6 same")
    done = CliRunner().invoke(
        main,
        ["group", str(X), "-c", str(said), "-k", "3", "-o", "g.csv", "--save", "r.npz",
         "--report", "r.html"],
        prog_name="clew",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    table = pd.read_csv(here / "g.csv")
    assert table.iloc[:, 1].tolist() == [group for group in range(3) for _ in range(10)]
    assert "probability that two rows are in one group" in (here / "r.html").read_text()
    saved = read_saved(here / "r.npz")
    assert saved.probabilities.shape == (30, 3)
    np.testing.assert_allclose(saved.probabilities.sum(axis=1), 1, atol=1e-6)
    assert (saved.probabilities.argmax(axis=1) == table.iloc[:, 1]).all()
    found = saved.explain(0, 2)
    assert found.chain == (0, 1, 2)
    assert found.are_together
    assert found.neighbors[0]
    explained = CliRunner().invoke(main, ["explain", "r.npz", "0", "15"], prog_name="clew")
    assert "are apart" in explained.stdout
