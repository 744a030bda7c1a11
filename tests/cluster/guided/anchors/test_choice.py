"""When one clustering of all rows is clearly better than another one by held-out answers."""

from __future__ import annotations

import numpy as np
import pytest

from clew.cluster.guided._anchors.choice import is_clear


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([], False),
        ([0.0] * 50, False),
        ([0.9] + [0.0] * 50, False),  # less than 1
        ([2.0] * 3 + [0.0] * 500, False),  # 6, with a standard error of 3.5
        ([2.0] * 10 + [0.0] * 500, True),  # 20, with a standard error of 6.3
        ([2.0] * 10 + [-2.0] * 8, False),
        ([-2.0] * 10 + [0.0] * 500, False),
        ([0.01] * 500, True),
    ],
)
def test_clear_leads(differences, expected):
    assert is_clear(np.array(differences), 2.0) == expected
