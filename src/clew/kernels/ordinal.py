"""Losses of answers given the positions of rows in a space, and their gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

#: Forms of the dissimilarity of two rows, by their squared distance.
T_STE, DISTANCE = 0, 1


@bare_kernel
def dissimilarity(squared: float, form: int, smoothing: float) -> tuple[float, float]:
    """Return ``log(1 + squared)``, or ``sqrt(squared + smoothing)`` if form is 1; and its slope."""
    if form == 0:
        return np.log1p(squared), 1.0 / (1.0 + squared)
    root = np.sqrt(squared + smoothing)
    return root, 0.5 / root


@bare_kernel
def squared_distance(space: NDArray[np.float64], i: int, j: int) -> float:
    """Return the squared distance of two rows."""
    total = 0.0
    for k in range(space.shape[1]):
        total += (space[i, k] - space[j, k]) ** 2
    return total


@bare_kernel
def add_gradient(
    space: NDArray[np.float64], i: int, j: int, slope: float, gradient: NDArray[np.float64]
) -> None:
    """Add the gradient of ``slope`` times the squared distance of two rows."""
    for k in range(space.shape[1]):
        step = 2.0 * slope * (space[i, k] - space[j, k])
        gradient[i, k] += step
        gradient[j, k] -= step


@kernel
def comparison_loss(
    space: NDArray[np.float64],
    rows: NDArray[np.int64],
    options: NDArray[np.int64],
    slope: NDArray[np.float64],
    weight: NDArray[np.float64],
    lapse: float,
    form: int,
    smoothing: float,
    gradient: NDArray[np.float64],
) -> float:
    """Sum the losses of answers that name one of several pairs of rows as the closest.

    IN space (n_rows, n_components): positions; rows (n_answers, 3): rows of each question; options
    (n_options, 2): positions in a question of the pairs it asks between; the answer is the first;
    slope, weight (n_answers,): slope of the annotator, and weight; lapse: share of random answers;
    form, smoothing: see `dissimilarity`, f.
    INOUT gradient (n_rows, n_components): the gradient with respect to `space` is added to it.
    Returns sum of ``-weight * log(p)`` over the answers.

    For K options, p is ``lapse / K`` plus ``1 - lapse`` times the softmax of ``-slope * f`` at the
    answer.
    """
    n_options = len(options)
    probability = np.empty(n_options)
    derivative = np.empty(n_options)
    loss = 0.0
    for at in range(len(rows)):
        least = np.inf
        for option in range(n_options):
            i, j = rows[at, options[option, 0]], rows[at, options[option, 1]]
            squared = squared_distance(space, i, j)
            value, derivative[option] = dissimilarity(squared, form, smoothing)
            probability[option] = slope[at] * value
            least = min(least, probability[option])
        total = 0.0
        for option in range(n_options):
            probability[option] = np.exp(least - probability[option])
            total += probability[option]
        chosen = probability[0] / total
        p = lapse / n_options + (1.0 - lapse) * chosen
        loss -= weight[at] * np.log(p)
        outer = weight[at] * slope[at] * (1.0 - lapse) * chosen / p
        for option in range(n_options):
            residual = (1.0 if option == 0 else 0.0) - probability[option] / total
            i, j = rows[at, options[option, 0]], rows[at, options[option, 1]]
            add_gradient(space, i, j, outer * residual * derivative[option], gradient)
    return loss


@kernel
def pair_loss(
    space: NDArray[np.float64],
    rows: NDArray[np.int64],
    is_same: NDArray[np.bool_],
    slope: NDArray[np.float64],
    weight: NDArray[np.float64],
    lapse: float,
    threshold: float,
    gradient: NDArray[np.float64],
) -> float:
    """Sum the losses of "same" and "different" answers about pairs.

    IN space, slope, weight, lapse, gradient: as for `comparison_loss`; rows (n_answers, 2): rows of
    each pair; is_same (n_answers,); threshold: squared distance at which both answers are as
    probable.
    Returns sum of ``-weight * log(p)`` over the answers.

    For squared distance d², p is ``lapse / 2 + (1 - lapse) * sigmoid(±slope * (threshold - d²))``,
    with the plus sign for "same".
    """
    loss = 0.0
    for at in range(len(rows)):
        i, j = rows[at, 0], rows[at, 1]
        sign = 1.0 if is_same[at] else -1.0
        score = sign * slope[at] * (threshold - squared_distance(space, i, j))
        # exp of a negative number only, so that nothing overflows
        small = np.exp(-abs(score))
        chosen = (1.0 if score >= 0 else small) / (1.0 + small)
        p = lapse / 2 + (1.0 - lapse) * chosen
        loss -= weight[at] * np.log(p)
        outer = weight[at] * slope[at] * (1.0 - lapse) * small / (1.0 + small) ** 2 / p
        add_gradient(space, i, j, sign * outer, gradient)
    return loss
