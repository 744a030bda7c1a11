"""Slow twins of the scores of answers by a forest: inconsistency and out-of-bag votes."""

from statistics import median


def inconsistency(leaf, is_same):
    """Equation 11 of COP-RF; `leaf` has a row for each tree and a column for each answer."""
    n_trees, n = len(leaf), len(is_same)

    def affinity(i, j):
        return sum(tree[i] == tree[j] for tree in leaf) / n_trees

    alike = [[j for j in range(n) if is_same[j] == is_same[i]] for i in range(n)]
    rho = [1 / sum(affinity(i, j) ** 2 for j in alike[i]) for i in range(n)]
    middle = [median(rho[j] for j in alike[i]) for i in range(n)]
    return [(rho[i] - middle[i]) / middle[i] for i in range(n)]


def out_of_bag_votes(leaf, draws, is_same):
    """Sum the share of "same" in each answer's leaf over the trees that did not draw the answer.

    Returns the sums, and the numbers of trees.
    """
    shares, numbers = [], []
    for i in range(len(is_same)):
        votes = []
        for tree, drawn in zip(leaf, draws, strict=True):
            inside = [j for j in range(len(is_same)) if tree[j] == tree[i] and drawn[j]]
            if drawn[i] == 0 and inside:
                same = sum(int(drawn[j]) for j in inside if is_same[j])
                votes.append(same / sum(int(drawn[j]) for j in inside))
        shares.append(sum(votes))
        numbers.append(len(votes))
    return shares, numbers
