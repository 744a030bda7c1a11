"""Slow twin of log-det projections, by matrix inverses and root finding."""

import numpy as np
from scipy.optimize import brentq


def matrix_of(limits, at, X):
    """Return the matrix C of a constraint ``tr(A C) <= bound``."""
    i, j, g, h = limits.rows[at]
    c, e = X[i] - X[j], X[g] - X[h]
    C = limits.factor[at] * np.outer(c, c)
    return C if limits.inverse_bound[at] else C - np.outer(e, e)


def bound_of(limits, at, multiplier):
    """Return the bound of ``tr(A C)``; a soft bound depends on the multiplier."""
    if not limits.inverse_bound[at]:
        return 0.0
    factor = limits.factor[at]
    return factor / (limits.inverse_bound[at] - factor * limits.slack[at] * multiplier)


def excess(limits, at, multiplier, X, A):
    """Return the relative violation of a constraint."""
    i, j, g, h = limits.rows[at]
    near, far = (X[i] - X[j]) @ A @ (X[i] - X[j]), (X[g] - X[h]) @ A @ (X[g] - X[h])
    factor = limits.factor[at]
    if not limits.inverse_bound[at]:
        return (factor * near - far) / (factor * near + far)
    return factor * near / abs(bound_of(limits, at, multiplier)) - factor


def sweep(limits, X, tol, corrected, multiplier, A):
    """Project once onto all constraints, in order; return A and the multipliers."""
    multiplier = list(multiplier)
    inverse = np.linalg.inv(A)
    for at in range(len(limits.rows)):
        C, old = matrix_of(limits, at, X), multiplier[at]

        def missed(step, C=C, old=old, at=at, inverse=inverse):
            bound = bound_of(limits, at, old + step)
            return np.trace(np.linalg.inv(inverse + step * C) @ C) - bound

        off = excess(limits, at, old, X, np.linalg.inv(inverse))
        if not corrected and not (off > tol or (limits.low[at] < 0 and off < -tol)):
            continue
        low, high = range_of_steps(limits, at, old, C, inverse)
        step = brentq(missed, low, high, xtol=1e-14, rtol=1e-14)
        if corrected:
            step = min(max(old + step, limits.low[at]), limits.high[at]) - old
        multiplier[at] += step
        inverse = inverse + step * C
    return np.linalg.inv(inverse), np.array(multiplier)


def range_of_steps(limits, at, old, C, inverse):
    """Return the range of steps that keep the matrix positive definite and the bound positive."""
    values = np.linalg.eigvals(np.linalg.inv(inverse) @ C).real
    ends = [-1 / value for value in values if abs(value) > 1e-9]
    if limits.slack[at]:
        factor = limits.factor[at]
        ends.append((limits.inverse_bound[at] / (factor * limits.slack[at])) - old)
    low = max([end for end in ends if end < 0], default=-1e6)
    high = min([end for end in ends if end > 0], default=1e6)
    return low * (1 - 1e-9), high * (1 - 1e-9)
