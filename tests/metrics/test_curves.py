from __future__ import annotations

import pytest

from clew.exceptions import InvalidDataError
from clew.metrics import area_under_curve


def test_area_is_that_under_lines_between_points_at_unit_distance():
    assert area_under_curve([1, 1, 1, 1, 1]) == 4.0
    assert area_under_curve([0.2, 0.4]) == pytest.approx(0.3)
    assert area_under_curve([0.0, 0.5, 0.5, 0.1, -0.1]) == pytest.approx(1.05)


@pytest.mark.parametrize(
    "values", [[], [0.5], [[0.1, 0.2]], [0.1, float("nan")], [0, float("inf")]]
)
def test_invalid_curves_are_refused(values):
    with pytest.raises(InvalidDataError, match=r"curve|not finite"):
        area_under_curve(values)
