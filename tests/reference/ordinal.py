"""Slow twins of `clew.kernels.ordinal`: the probability of each answer from its formula."""

import math


def squared_distance(space, i, j):
    return sum((a - b) ** 2 for a, b in zip(space[i], space[j], strict=True))


def dissimilarity(squared, form, smoothing):
    return math.log(1 + squared) if form == "tste" else math.sqrt(squared + smoothing)


def comparison_loss(space, rows, options, slope, weight, lapse, form, smoothing):
    """Sum the negative log-probabilities of the first option."""
    loss = 0.0
    for question, s, w in zip(rows, slope, weight, strict=True):
        scores = []
        for i, j in options:
            squared = squared_distance(space, question[i], question[j])
            scores.append(math.exp(-s * dissimilarity(squared, form, smoothing)))
        p = lapse / len(options) + (1 - lapse) * scores[0] / sum(scores)
        loss -= w * math.log(p)
    return loss


def pair_loss(space, rows, is_same, slope, weight, lapse, threshold):
    """Sum the negative log-probabilities of answers about pairs."""
    loss = 0.0
    for (i, j), same, s, w in zip(rows, is_same, slope, weight, strict=True):
        p = 1 / (1 + math.exp(-s * (threshold - squared_distance(space, i, j))))
        loss -= w * math.log(lapse / 2 + (1 - lapse) * (p if same else 1 - p))
    return loss
