"""Rate of the joint divergence of two chains: absorption into closed classes and their stationary laws."""

from __future__ import annotations

from .arithmetic import expectation, mp
from .joint_closed import terms


def rate(p, q):
    """nu . k, nu the Cesaro limit of initial_p T^i; infinite if any place p reaches is."""
    initial, transition, start, step = terms(p, q)
    reach = reachability(transition)
    states = range(len(initial))
    visited = [s for s in states if any(initial[r] > 0 and reach[r][s] for r in states)]
    if start == mp.inf or any(step[s] == mp.inf for s in visited):
        return mp.inf
    total = mp.zero
    for members in closed_classes(reach):
        weight = expectation(initial, absorption(transition, reach, members))
        law = stationary(transition, members)
        total += weight * sum((law[i] * step[s] for i, s in enumerate(members) if s in visited), mp.zero)
    return total


def reachability(transition):
    """reach[r][s]: a path of any length, zero included, leads from r to s (Warshall)."""
    states = range(len(transition))
    reach = [[r == s or transition[r][s] > 0 for s in states] for r in states]
    for middle in states:
        for r in states:
            for s in states:
                reach[r][s] = reach[r][s] or (reach[r][middle] and reach[middle][s])
    return reach


def closed_classes(reach):
    """Sets of states that lead only to each other."""
    found = []
    for r in range(len(reach)):
        members = [s for s in range(len(reach)) if reach[r][s]]
        if all(reach[s][r] for s in members) and members not in found:
            found.append(members)
    return found


def stationary(transition, members):
    """The law nu = nu T of one closed class: nu (T - I) = 0 with one column replaced by sum nu = 1."""
    n = len(members)
    system = mp.matrix(n, n)
    for i, s in enumerate(members):
        for j, r in enumerate(members):
            system[i, j] = transition[r][s] - (1 if r == s else 0)
    for j in range(n):
        system[n - 1, j] = mp.one
    target = mp.matrix([0] * (n - 1) + [1])
    return list(mp.lu_solve(system, target))


def absorption(transition, reach, members):
    """Probability, from every state, of ending in the class."""
    states = range(len(transition))
    inside = set(members)
    closed = {s for group in closed_classes(reach) for s in group}
    transient = [s for s in states if s not in closed]
    result = [mp.one if s in inside else mp.zero for s in states]
    if transient:
        n = len(transient)
        system = mp.matrix(n, n)
        target = mp.matrix(n, 1)
        for i, r in enumerate(transient):
            target[i] = sum((transition[r][s] for s in members), mp.zero)
            for j, s in enumerate(transient):
                system[i, j] = (1 if r == s else 0) - transition[r][s]
        for r, value in zip(transient, mp.lu_solve(system, target), strict=True):
            result[r] = value
    return result
