"""Slow twins of the steps of k-means."""


def cheapest(cost):
    """Return the column of lowest cost of each row, the first of equal ones."""
    return [row.index(min(row)) for row in cost]


def group_sums(rows, weight, labels, n_groups):
    """Return the sums of rows and of weights of each group."""
    groups = range(n_groups)
    members = [[r for r, label in enumerate(labels) if label == group] for group in groups]
    sums = [[sum(rows[r][c] for r in m) for c in range(len(rows[0]))] for m in members]
    return sums, [sum(weight[r] for r in m) for m in members]
