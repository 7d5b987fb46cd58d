"""The kernels as plain loops over nodes, in exact fractions: what the recursions say, read line by line."""

from __future__ import annotations

from fractions import Fraction


def law(row):
    """A row as a law: doubles taken exactly, then scaled to sum to one; zeros stay zeros."""
    exact = [Fraction(float(value)) for value in row]
    return [value / sum(exact) for value in exact] if any(exact) else exact


def levels(parent):
    found = [0]
    for above in parent[1:]:
        found.append(found[above] + 1)
    return found


def inward(parent, group, transition, own, root):
    states = range(len(root))
    below = [[Fraction(0) for _ in states] for _ in parent]
    out = [[] for _ in parent]
    for u in range(len(parent) - 1, 0, -1):
        g = group[u]
        rows = [law(row) for row in transition[g]]
        out[u] = [Fraction(float(own[g][r])) + sum(rows[r][s] * below[u][s] for s in states) for r in states]
        for r in states:
            below[parent[u]][r] += out[u][r]
    out[0] = [Fraction(float(root[s])) + below[0][s] for s in states]
    return out


def downward(initial, parent, group, transition):
    states = range(len(initial))
    out = [law(initial)]
    for above, g in zip(parent[1:], group[1:], strict=True):
        rows = [law(row) for row in transition[g]]
        out.append([sum(out[above][r] * rows[r][s] for r in states) for s in states])
    return out


def visits(initial, parent, group, transition):
    laws = downward(initial, parent, group, transition)
    edges, nodes = ([[Fraction(0)] * len(initial) for _ in transition] for _ in range(2))
    for u, g in enumerate(group):
        nodes[g] = [total + value for total, value in zip(nodes[g], laws[u], strict=True)]
        if u > 0:
            edges[g] = [total + value for total, value in zip(edges[g], laws[parent[u]], strict=True)]
    return edges, nodes


def level_visits(initial, transition, count):
    chain = range(-1, len(count) - 1)
    laws = downward(initial, chain, [0] * len(count), [transition])[: len(count)]
    return [sum(Fraction(float(n)) * row[s] for n, row in zip(count, laws, strict=True)) for s in range(len(initial))]


def reach(start, parent, group, allowed):
    states = range(len(start))
    out = [[bool(value) for value in start]]
    for above, g in zip(parent[1:], group[1:], strict=True):
        out.append([any(out[above][r] and allowed[g][r][s] for r in states) for s in states])
    return out
