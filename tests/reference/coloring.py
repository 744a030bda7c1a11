"""Slow, plain twins of how nodes are colored: by trying every coloring, and by small steps."""

from __future__ import annotations

from itertools import product


def colorings(n_nodes, edges, n_colors):
    """Every coloring in which no edge joins one color."""
    return [
        colors
        for colors in product(range(n_colors), repeat=n_nodes)
        if all(colors[a] != colors[b] for a, b in edges)
    ]


def core(n_nodes, edges, n_colors):
    """The nodes that stay when those with fewer than `n_colors` neighbors go, again and again."""
    left = set(range(n_nodes))
    while weak := {n for n in left if len(neighbors(n, edges) & left) < n_colors}:
        left -= weak
    return left


def placed(order, cost, edges, labels):
    """Give nodes in turn the cheapest color that no neighbor has; how many there was one for."""
    for k, node in enumerate(order):
        taken = {labels[other] for other in neighbors(node, edges)}
        free = [color for color in range(len(cost[node])) if color not in taken]
        if not free:
            return k
        labels[node] = min(free, key=lambda color: cost[node][color])
    return len(order)


def swapped(cost, edges, labels):
    """Swap two colors along a chain as long as a swap lowers the cost."""
    labels = list(labels)
    changed = True
    while changed:
        changed = False
        for node, color in product(range(len(labels)), range(len(cost[0]))):
            own = labels[node]
            if cost[node][color] >= cost[node][own]:
                continue
            chain = chain_of(node, {own, color}, edges, labels)
            swap = {member: own + color - labels[member] for member in chain}
            if sum(cost[m][c] - cost[m][labels[m]] for m, c in swap.items()) < 0:
                for member, other in swap.items():
                    labels[member] = other
                changed = True
    return labels


def chain_of(node, colors, edges, labels):
    """The nodes of two colors that edges among them connect with one of them."""
    chain, size = {node}, 0
    while len(chain) > size:
        size = len(chain)
        for member in list(chain):
            chain |= {o for o in neighbors(member, edges) if labels[o] in colors}
    return chain


def neighbors(node, edges):
    """The nodes that edges join with a node."""
    return {b if a == node else a for a, b in edges if node in (a, b)}
