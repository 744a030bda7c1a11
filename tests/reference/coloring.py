"""Slow, plain twins of how nodes are coloured: by trying every colouring, and by small steps."""

from __future__ import annotations

from itertools import product


def colourings(n_nodes, edges, n_colours):
    """Every colouring in which no edge joins one colour."""
    return [
        colours
        for colours in product(range(n_colours), repeat=n_nodes)
        if all(colours[a] != colours[b] for a, b in edges)
    ]


def core(n_nodes, edges, n_colours):
    """The nodes that stay when those with fewer than `n_colours` neighbours go, again and again."""
    left = set(range(n_nodes))
    while weak := {n for n in left if len(neighbours(n, edges) & left) < n_colours}:
        left -= weak
    return left


def placed(order, cost, edges, labels):
    """Give nodes in turn the cheapest colour that no neighbour has; how many there was one for."""
    for k, node in enumerate(order):
        taken = {labels[other] for other in neighbours(node, edges)}
        free = [colour for colour in range(len(cost[node])) if colour not in taken]
        if not free:
            return k
        labels[node] = min(free, key=lambda colour: cost[node][colour])
    return len(order)


def swapped(cost, edges, labels):
    """Swap two colours along a chain as long as a swap lowers the cost."""
    labels = list(labels)
    changed = True
    while changed:
        changed = False
        for node, colour in product(range(len(labels)), range(len(cost[0]))):
            own = labels[node]
            if cost[node][colour] >= cost[node][own]:
                continue
            chain = chain_of(node, {own, colour}, edges, labels)
            swap = {member: own + colour - labels[member] for member in chain}
            if sum(cost[m][c] - cost[m][labels[m]] for m, c in swap.items()) < 0:
                for member, other in swap.items():
                    labels[member] = other
                changed = True
    return labels


def chain_of(node, colours, edges, labels):
    """The nodes of two colours that edges among them connect with one of them."""
    chain, size = {node}, 0
    while len(chain) > size:
        size = len(chain)
        for member in list(chain):
            chain |= {o for o in neighbours(member, edges) if labels[o] in colours}
    return chain


def neighbours(node, edges):
    """The nodes that edges join with a node."""
    return {b if a == node else a for a, b in edges if node in (a, b)}
