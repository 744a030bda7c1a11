"""Slow twins of the kernels of correlation clustering."""

from itertools import product
from math import lgamma

import numpy as np


def score(scoring, known, A, B):
    """Log-odds that two groups are one; `known` has evidence and prior of each asked pair."""
    asked = [known[tuple(sorted(pair))] for pair in product(A, B) if tuple(sorted(pair)) in known]
    total = scoring.unasked * (len(A) * len(B) - len(asked))
    total += lgamma(len(A) + len(B)) - lgamma(len(A)) - lgamma(len(B))
    if not asked:
        return total + scoring.no_prior
    priors = [prior for _, prior in asked]
    mixed = scoring.mean_share * np.mean(priors) + (1 - scoring.mean_share) * max(priors)
    return total + sum(evidence for evidence, _ in asked) + mixed


def fixed_score(scoring, known, row, group):
    """The same for a row that has to be in one of a given number of groups."""
    asked = any(tuple(sorted((row, other))) in known for other in group)
    if not asked:
        return scoring.unasked * len(group)
    crowd = lgamma(len(group) + 1) - lgamma(len(group))
    return score(scoring, known, [row], group) - scoring.no_prior - crowd


def moved_rows(scoring, known, labels, margin, *, is_fixed, n_few):
    """Move each row to the group that it fits best, once."""
    labels, n_moves = list(labels), 0
    for row in range(len(labels)):
        groups = {}
        for other, group in enumerate(labels):
            if other != row:
                groups.setdefault(group, []).append(other)
        own = labels[row]
        if is_fixed and own not in groups:
            continue
        fits = {
            group: fixed_score(scoring, known, row, rows)
            if is_fixed
            else score(scoring, known, [row], rows)
            for group, rows in groups.items()
            if group < n_few
            or group == own
            or any(tuple(sorted((row, other))) in known for other in rows)
        }
        here = fits.pop(own, 0.0)
        best = max(fits, key=lambda group: (fits[group], -group), default=own)
        if best != own and fits[best] > margin + (here if is_fixed else max(here, 0.0)):
            labels[row] = best
        elif not is_fixed and here < -margin:
            labels[row] = min(set(range(len(labels) + 1)) - set(labels))
        else:
            continue
        n_moves += 1
    return labels, n_moves


def annealed_rows(scoring, known, labels, n_groups, temperature, random):
    """Draw the group of each row given the others, by inverting the distribution function."""
    labels = list(labels)
    for row, level in enumerate(random):
        rows = [
            [other for other, of in enumerate(labels) if of == group and other != row]
            for group in range(n_groups)
        ]
        fits = np.array([fixed_score(scoring, known, row, of) if of else 0.0 for of in rows])
        share = np.exp((fits - fits.max()) / temperature)
        labels[row] = int(np.searchsorted(np.cumsum(share), level * share.sum(), side="right"))
    return labels


def cut_sums(parents, pairs, values):
    """For each node, sum the values of pairs with exactly one node in its subtree."""

    def is_below(node, top):
        while node is not None:
            if node == top:
                return True
            node = parents[node]
        return False

    nodes = range(len(parents))
    inside = np.array([[is_below(node, top) for node in nodes] for top in nodes])
    is_cut = inside[:, pairs[:, 0]] != inside[:, pairs[:, 1]]
    return is_cut @ values, inside.sum(axis=1)
