"""Slow twins of the kernels of medoids and subclusters."""

import math


def nearest_rows(apart, own, n):
    """Return the n nearest rows of each list's owner; in a tie, the first row."""
    lists = []
    for row, distances in zip(own, apart, strict=True):
        others = [j for j in range(len(distances)) if j != row]
        lists.append(sorted(others, key=lambda j: (distances[j], j))[:n])
    return lists


def shared(lists):
    """Count the rows that every two lists share; 0 on the diagonal."""
    sets = [set(each) for each in lists]
    return [[0 if a is b else len(a & b) for b in sets] for a in sets]


def mean_log_jaccard(lists, n_compared, least):
    """Compare the first row of each list with the next ones by the lists that hold them."""
    rows = {row for each in lists for row in each}
    held = {row: {at for at, each in enumerate(lists) if row in each} for row in rows}
    result = []
    for first, *others in lists:
        alike = [len(held[first] & held[o]) / len(held[first] | held[o]) for o in others]
        logs = [-math.log(max(each, least)) for each in alike[:n_compared]]
        result.append(sum(logs) / n_compared)
    return result


def cost(own, pair, centers):
    """Return the cost of centers: each by itself, and every two together."""
    together = sum(pair[a][b] for a in centers for b in centers if a < b)
    return sum(own[c] for c in centers) + together


def silhouettes(within, apart, centers):
    """Sum the silhouettes of centers: mean distance within, and distance of the nearest center."""
    total = 0.0
    for center in centers:
        between = min(apart[center][other] for other in centers if other != center)
        total += (between - within[center]) / max(between, within[center])
    return total


def n_overlaps(overlap, center, centers):
    """Count the other centers whose subclusters share rows with that of a candidate."""
    return sum(overlap[center][c] for c in centers if c != center)


def valid_swaps(overlap, centers, n):
    """List the swaps (position, candidate) that the thesis' rule allows (step d(i))."""
    found = []
    for at, old in enumerate(centers):
        others = [c for c in centers if c != old]
        for new in set(range(n)) - set(centers):
            if not overlap or (
                n_overlaps(overlap, old, others) >= n_overlaps(overlap, new, others)
            ):
                found.append((at, new))
    return found


def best_swaps(own, pair, overlap, centers):
    """Make the best valid swap until none lowers the cost; return all sets of centers."""
    history = [list(centers)]
    while True:
        now = history[-1]
        options = []
        for at, new in valid_swaps(overlap, now, len(own)):
            swapped = [*now[:at], new, *now[at + 1 :]]
            options.append((cost(own, pair, swapped), swapped))
        if not options or min(options)[0] > cost(own, pair, now) - 1e-9:
            return history
        history.append(min(options)[1])


def medoid_cost(table, medoids):
    """Return the sum of distances of rows from their nearest medoids."""
    return sum(min(table[m][row] for m in medoids) for row in range(len(table[0])))


def pam(table, medoids):
    """Make the best swap of PAM until none lowers the cost; return the medoids."""
    medoids = list(medoids)
    while True:
        options = []
        for at in range(len(medoids)):
            for new in set(range(len(table))) - set(medoids):
                swapped = [*medoids[:at], new, *medoids[at + 1 :]]
                options.append((medoid_cost(table, swapped), swapped))
        if not options or min(options)[0] > medoid_cost(table, medoids) - 1e-9:
            return medoids
        medoids = min(options)[1]
