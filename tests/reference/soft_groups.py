"""Slow, plain twins of groups by distance and by answers that have a price."""

from __future__ import annotations


def total(base, pairs, is_must, price, labels):
    """What rows and violated answers cost together."""
    cost = sum(base[row][group] for row, group in enumerate(labels))
    for pair, (i, j) in enumerate(pairs):
        a, b = labels[i], labels[j]
        if is_must[pair] and a != b:
            cost += price[pair][a] + price[pair][b]
        if not is_must[pair] and a == b:
            cost += price[pair][a]
    return cost


def settled(order, base, pairs, is_must, price, labels):
    """Move rows in turn to their cheapest group until none moves; all costs anew for each try."""
    labels = list(labels)
    moved = True
    while moved:
        moved = False
        for row in order:
            costs = [
                total(base, pairs, is_must, price, [*labels[:row], group, *labels[row + 1 :]])
                for group in range(len(base[0]))
            ]
            best = labels[row]
            for group, cost in enumerate(costs):
                if cost < costs[best]:
                    best = group
            moved = moved or best != labels[row]
            labels[row] = best
    return labels


def best_to_part(group, alone, base, pairs, is_must, price, labels):
    """The row that saves most by being alone in an empty group, and what it saves."""
    before = total(base, pairs, is_must, price, labels)
    best, most = -1, 0.0
    for row, own in enumerate(labels):
        if labels.count(own) < 2:
            continue
        changed = [list(costs) for costs in base]
        changed[row][group] = alone
        after = [*labels[:row], group, *labels[row + 1 :]]
        saved = before - total(changed, pairs, is_must, price, after)
        if saved > most:
            best, most = row, saved
    return best, most
