"""Slow twin of the search for the best cut of a feature."""

from fractions import Fraction


def best_cut(bins, weights, classes, n_bins, smallest, *, links=(), reward=0.0):
    """Try every cut; return the score and bin of the best one, (0.0, -1) if none is valid.

    A link is two bins and a weight; a cut between the bins separates it.
    """
    cuts = [
        cut_value(bins, weights, classes, cut, smallest, links=links, reward=reward)
        for cut in range(n_bins)
    ]
    best = max(value for value, _, _ in cuts)
    if best <= 0:
        return 0.0, -1
    first = next(cut for cut, (value, _, _) in enumerate(cuts) if value == best)
    last = first
    while last + 1 < n_bins and cuts[last + 1] == cuts[first]:
        last += 1
    return best, (first + last) // 2


def cut_value(bins, weights, classes, cut, smallest, *, links=(), reward=0.0):
    """Return the value of a cut, the rows that go left, and the weight of the separated links."""
    left = tuple(row for row, here in enumerate(bins) if here <= cut)
    net = sum(weight for a, b, weight in links if (a <= cut) != (b <= cut))
    gain = relative_gain(weights, classes, left, smallest)
    return (float(gain) + reward * float(net) if gain else 0.0), left, net


def relative_gain(weights, classes, left, smallest):
    """Return the share of the Gini impurity that a split removes; 0 if a child is too small."""
    rows = range(len(weights))
    right = [row for row in rows if row not in left]
    if min(sum(weights[row] for row in side) for side in (left, right)) < smallest:
        return Fraction(0)
    whole = sum(weights)
    kept = sum(
        Fraction(sum(weights[row] for row in side), whole) * gini(weights, classes, side)
        for side in (left, right)
    )
    return 1 - kept / gini(weights, classes, rows)


def gini(weights, classes, rows):
    """Return the Gini impurity of some rows."""
    total = sum(weights[row] for row in rows)
    ones = Fraction(sum(weights[row] for row in rows if classes[row]), total)
    return 2 * ones * (1 - ones)
