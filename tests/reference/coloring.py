"""Slow twins of graph coloring: enumeration, peeling, greedy placement and swaps of chains."""

from itertools import product


def colorings(n_nodes, edges, n_colors):
    """List the colorings in which no edge joins two nodes of one color."""
    return [
        colors
        for colors in product(range(n_colors), repeat=n_nodes)
        if all(colors[a] != colors[b] for a, b in edges)
    ]


def core(n_nodes, edges, n_colors):
    """Return the nodes left after nodes with fewer than `n_colors` neighbors are removed."""
    left = set(range(n_nodes))
    while weak := {n for n in left if len(neighbors(n, edges) & left) < n_colors}:
        left -= weak
    return left


def placed(order, cost, edges, labels):
    """Color nodes in order, each with its cheapest allowed color; return the number colored."""
    for k, node in enumerate(order):
        taken = {labels[other] for other in neighbors(node, edges)}
        free = [color for color in range(len(cost[node])) if color not in taken]
        if not free:
            return k
        labels[node] = min(free, key=lambda color: cost[node][color])
    return len(order)


def dsatur(n_nodes, cost, edges):
    """Color by DSATUR with backtracking; return the colors, or None if no coloring exists."""
    labels = [-1] * n_nodes

    def allowed(node):
        taken = {labels[other] for other in neighbors(node, edges)}
        return [color for color in range(len(cost[0])) if color not in taken]

    def color_rest():
        left = [node for node in range(n_nodes) if labels[node] < 0]
        if not left:
            return True
        node = min(left, key=lambda n: (len(allowed(n)), -len(neighbors(n, edges))))
        for color in sorted(allowed(node), key=lambda color: cost[node][color]):
            labels[node] = color
            if color_rest():
                return True
            labels[node] = -1
        return False

    return labels if color_rest() else None


def swapped(cost, edges, labels):
    """Swap two colors along a chain as long as that lowers the cost."""
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
    """Return the chain of a node: all nodes that paths through two colors connect to it."""
    chain, size = {node}, 0
    while len(chain) > size:
        size = len(chain)
        for member in list(chain):
            chain |= {o for o in neighbors(member, edges) if labels[o] in colors}
    return chain


def neighbors(node, edges):
    """Return the neighbors of a node."""
    return {b if a == node else a for a, b in edges if node in (a, b)}
