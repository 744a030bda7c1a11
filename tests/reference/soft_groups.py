"""Slow twins of `clew.kernels.means`: every cost is computed from the definition."""


def total(distances, pairs, is_must, penalty, labels):
    """Sum the costs of rows and the penalties of violated answers."""
    cost = sum(distances[row][group] for row, group in enumerate(labels))
    for pair, (i, j) in enumerate(pairs):
        a, b = labels[i], labels[j]
        if is_must[pair] and a != b:
            cost += penalty[pair][a] + penalty[pair][b]
        if not is_must[pair] and a == b:
            cost += penalty[pair][a]
    return cost


def iterated_conditional_modes(order, distances, pairs, is_must, penalty, labels):
    """Move rows one by one to their cheapest group, until none moves."""
    labels = list(labels)
    moved = True
    while moved:
        moved = False
        for row in order:
            costs = [
                total(
                    distances, pairs, is_must, penalty, [*labels[:row], group, *labels[row + 1 :]]
                )
                for group in range(len(distances[0]))
            ]
            best = labels[row]
            for group, cost in enumerate(costs):
                if cost < costs[best]:
                    best = group
            moved = moved or best != labels[row]
            labels[row] = best
    return labels


def best_for_empty_group(group, cost_at_center, distances, pairs, is_must, penalty, labels):
    """Find the row whose move into an empty group lowers the objective most, and by how much."""
    before = total(distances, pairs, is_must, penalty, labels)
    best, most = -1, 0.0
    for row, own in enumerate(labels):
        if labels.count(own) < 2:
            continue
        changed = [list(costs) for costs in distances]
        changed[row][group] = cost_at_center
        after = [*labels[:row], group, *labels[row + 1 :]]
        saved = before - total(changed, pairs, is_must, penalty, after)
        if saved > most:
            best, most = row, saved
    return best, most
