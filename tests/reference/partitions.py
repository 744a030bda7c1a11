"""Plain twins of the kernels that sample partitions."""

import numpy as np


def between(W, E, first, second, top_share):
    """Log-odds that two sets of rows are one, without the terms that do not depend on pairs."""
    values = W[np.ix_(first, second)]
    mixed = (1 - top_share) * values.mean() + top_share * values.max()
    return mixed + E[np.ix_(first, second)].sum()


def members(labels, group, without=()):
    return np.array([i for i in np.flatnonzero(labels == group) if i not in without], int)


def row_scores(labels, W, E, row, scoring):
    """Log-odds of a row and each group without it."""
    found = []
    for group in range(labels.max() + 1):
        rows = members(labels, group, (row,))
        if len(rows) == 0:
            found.append(scoring.alone)
        else:
            found.append(between(W, E, [row], rows, scoring.top_share))
    return np.array(found)


def row_probabilities(labels, W, E, scoring):
    table = []
    for row in range(len(labels)):
        scores = row_scores(labels, W, E, row, scoring)
        is_single = (labels == labels[row]).sum() == 1
        weights = np.exp(scores)
        table.append(weights / (weights.sum() + (0 if is_single else np.exp(scoring.alone))))
    return np.array(table).T


def group_probabilities(labels, W, E, scoring):
    k = labels.max() + 1
    table = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            first, second = members(labels, a), members(labels, b)
            if a != b and max(len(first), len(second)) > 1:
                smaller = min(len(first), len(second))
                score = between(W, E, first, second, scoring.top_share)
                score -= scoring.alone / smaller**2 + scoring.apart
                table[a, b] = 1 / (1 + np.exp(-score))
    return table


def block_probabilities(labels, W, E, scoring):
    k = labels.max() + 1
    table = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            first, second = members(labels, a), members(labels, b)
            if a != b:
                sizes = np.log(sorted((len(first), len(second))))
                score = between(W, E, first, second, scoring.top_share)
                score += scoring.smaller * sizes[0] + scoring.larger * sizes[1]
                table[a, b] = 1 / (1 + np.exp(-score))
    return table


def same_probabilities(labels, of_rows, of_groups, of_blocks):
    """The two sums of `add_same_probabilities`, for one partition."""
    n = len(labels)
    found = np.zeros((2, n, n))
    for i in range(n):
        for j in range(i):
            a, b = labels[i], labels[j]
            for which, of_two in enumerate((of_groups, of_blocks)):
                if a == b:
                    found[which, i, j] = of_rows[a, i] * of_rows[b, j]
                else:
                    apart = (1 - of_rows[b, i]) * (1 - of_rows[a, j]) * (1 - of_two[a, b])
                    found[which, i, j] = 1 - apart
    return found


def share_probabilities(labels, E, prior):
    """Probabilities of pairs by the share of rows that each group has, for one partition."""
    n, k = len(labels), labels.max() + 1
    size = np.bincount(labels)
    own = np.eye(k)[labels]
    evidence = own.T @ E @ own

    def posterior(p, nats):
        p = min(max(p, 1e-4), 0.95)
        return 1 / (1 + (1 - p) / p * np.exp(-nats))

    def apart(a, b):
        return 1 - np.exp(min(evidence[a, b], 0))

    means, shares = [], []
    for a in range(k):
        others = [b for b in range(k) if b != a]
        outside = sum(apart(a, b) * size[b] / n for b in others if size[b] > size[a])
        compared = sum(apart(a, b) * size[b] for b in others if size[b] <= size[a])
        means.append(min(prior.mean / max(1 - outside, 1e-3), prior.most))
        n_known = size[a] - 1 + prior.weight
        shares.append((size[a] - 1 + prior.weight * means[a]) / (n_known + compared))

    def joins(a, b):
        """Probability that group a is part of b."""
        larger = [c for c in range(k) if c != a and size[c] > size[b]]
        open_ = sum((1 - apart(a, c)) * size[c] / n for c in larger)
        return shares[b] * (1 - min(open_, 0.99))

    one = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            if a == b:
                continue
            both = joins(a, b), joins(b, a)
            before = min(both) if size[a] == size[b] else both[int(size[a] > size[b])]
            one[a, b] = posterior(before, evidence[a, b])
    stays = [
        posterior(max((size[a] - 1) / n, means[a]), E[i][labels == a].sum())
        for i, a in enumerate(labels)
    ]
    found = one[np.ix_(labels, labels)]
    for i in range(n):
        for j in range(i):
            if labels[i] == labels[j]:
                found[i, j] = stays[i] * (1 if size[labels[i]] == 2 else stays[j])
    return found


def greedy_merges(W, top_share):
    """Merge the two sets with the largest log-odds while these are positive."""
    sets = [[i] for i in range(len(W))]
    nothing = np.zeros_like(W)
    while len(sets) > 1:
        best = max(
            (between(W, nothing, a, b, top_share), i, j)
            for i, a in enumerate(sets)
            for j, b in enumerate(sets[:i])
        )
        if best[0] <= 0:
            break
        _, i, j = best
        sets[j] += sets.pop(i)
    labels = np.empty(len(W), int)
    for number, rows in enumerate(sets):
        labels[rows] = number
    return labels


def partition_value(same, labels, threshold):
    within = np.tril(labels[:, None] == labels, -1)
    return float((same - threshold)[within].sum())


def average(labels, questions, share, start, start_share, weight, old):
    new = (1 - share) * labels + share * questions
    np.fill_diagonal(new, 1.0)
    new = (1 - start_share) * new + start_share * (start[:, None] == start)
    return (weight * new + (1 - weight) * old).astype(np.float16).astype(np.float32)


def question_values(same, log_odds, taken, weight, central, error, tie_break):
    n = len(same)
    value = np.full((n, n), -1.0)

    def entropy(p):
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    for i in range(n):
        for j in range(i):
            if not taken[i, j]:
                p = np.clip(same[i, j], 1e-6, 1 - 1e-6)
                information = entropy(p * (1 - error) + (1 - p) * error) - entropy(error)
                score = information * min(weight[i], weight[j]) + tie_break * log_odds[i, j]
                value[i, j] = score * (1 + central[i] + central[j])
    return value
