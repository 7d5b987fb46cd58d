"""One less a normalised kernel with its own digits, from the difference of the two models.

P and Q are the functions of the observations whose inner products are the kernel, D = c Q - P with any constant c:
1 - <P, Q>/(|P||Q|) = [ |D|^2 - (|c Q| - |P|)^2 ] / (2 |P||c Q|). The second moments of what lies below a node,
A = <u_s, u_t>, C = <u_s, d_t>, B = <d_s, d_t> with u of P and d of D, are carried up the tree: differences are formed
of parameters, never of the kernels themselves. c is chosen so that D has nothing of P in it, to first order.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.pair import Pair
from hidiv.emissions.family import Family
from hidiv.errors import HidivError
from hidiv.recursions.subtrees import Subtrees
from hidiv.types import Array

TURNS = 64  # of a long chain that are taken one by one; more are squared
WIDEST = 512  # 3 K^2: larger operators are not squared


class SecondMoments(NamedTuple):
    """A, C and B (K, K) of a subtree, divided by e^scale."""

    a: Array
    c: Array
    b: Array
    scale: float = 0.0

    def times(self, other: SecondMoments) -> SecondMoments:
        """Of two independent parts: u = u1 u2, d = d1 (u2 + d2) + u1 d2."""
        across = other.c + other.b
        cross = self.c.T * across
        whole = other.a + other.c + other.c.T + other.b
        return SecondMoments(
            self.a * other.a,
            self.c * (other.a + other.c) + self.a * other.c,
            self.b * whole + cross + cross.T + self.a * other.b,
            self.scale + other.scale,
        ).rescaled()

    def power(self, count: int) -> SecondMoments:
        """Of `count` independent copies."""
        result, square = None, self
        while count:
            if count & 1:
                result = square if result is None else result.times(square)
            count >>= 1
            if count:
                square = square.times(square)
        assert result is not None
        return result

    def before(self, rows: Array, apart: Array) -> SecondMoments:
        """Seen from the parent's state: u -> T u, d -> T' d + (T' - T) u; rows (R, K) of p and what q's differ by."""
        other = rows + apart
        cross = apart @ self.c @ other.T
        return SecondMoments(
            rows @ self.a @ rows.T,
            rows @ (self.c @ other.T + self.a @ apart.T),
            other @ self.b @ other.T + cross + cross.T + apart @ self.a @ apart.T,
            self.scale,
        ).rescaled()

    def rescaled(self) -> SecondMoments:
        top = float(self.a.max())
        if not top > 0:
            raise NotApplicable("nothing is possible")
        return SecondMoments(self.a / top, self.c / top, self.b / top, self.scale + np.log(top))


def complement(pair: Pair, kinds: Subtrees, beta: float, drift: float) -> float | None:
    """1 - K of two models whose states are alike in order, or None where differences of their emissions are not known.

    drift: log of <P, P>/<P, Q> a node, roughly; any drift gives the same value, a good one more of its digits.
    """
    p, q = pair.p, pair.q
    try:
        emissions = [_emission(a, b, beta, drift) for a, b in pair.families()]
        rows, apart = _powers(p.transitions, q.transitions, beta)
        root = _up(kinds, emissions, rows, apart)
        first, moved = _powers(p.initial, q.initial, beta)
        a, c, b, _ = root.before(first[None], moved[None])
    except (NotApplicable, HidivError):
        return None
    own, cross, apart_squared = float(a[0, 0]), float(c[0, 0]), max(float(b[0, 0]), 0.0)
    other = own + 2.0 * cross + apart_squared
    if not (own > 0 and other > 0 and np.isfinite([own, cross, apart_squared]).all()):
        return None
    norms = sqrt(own), sqrt(other)
    longer = (2.0 * cross + apart_squared) / (norms[0] + norms[1])
    return min(max((apart_squared - longer * longer) / (2.0 * norms[0] * norms[1]), 0.0), 1.0)


def _powers(p: Array, q: Array, beta: float) -> tuple[Array, Array]:
    """p^beta and q^beta - p^beta, entry by entry."""
    p, q = np.broadcast_arrays(p, q)
    if beta == 1.0:
        return np.asarray(p), np.asarray(q - p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = p**beta * np.expm1(beta * np.log1p((q - p) / p))
        return np.asarray(p**beta), np.where((p > 0) & (q > 0), near, q**beta - p**beta)


def _emission(p: Family, q: Family, beta: float, drift: float) -> SecondMoments:
    """The moments of one observation, q's multiplied by e^drift."""
    k = p.n_states
    if not p.n_features:
        ones = np.ones((k, k))
        return _drifted(SecondMoments(ones, 0.0 * ones, 0.0 * ones), drift)
    if p.n_features > 1 and p.alphabet() is None:
        if not (p.density_adds_up and q.density_adds_up):
            raise NotApplicable("the columns depend on each other")
        members = [
            (a.select([f]), b.select([f]))
            for a, b in zip(p.members() or (p,), q.members() or (q,), strict=True)
            for f in range(a.n_features)
        ]
        each = [_emission(a, b, beta, 0.0) for a, b in members]
        whole = each[0]
        for other in each[1:]:
            whole = whole.times(other)
        return _drifted(whole, drift)
    space = points(p, q)
    if space.apart is None:
        raise NotApplicable("the differences of the emissions are not known")
    at, change = space.p, space.apart
    if beta != 1.0:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            near = at**beta * np.expm1(beta * np.log1p(change / at))
            change = np.where(np.isfinite(near) & (at > 0), near, space.q**beta - at**beta)
            at = at**beta
    weighed = at * space.weight
    cross = weighed @ change.T
    return _drifted(SecondMoments(weighed @ at.T, cross, (change * space.weight) @ change.T), drift)


def _drifted(of: SecondMoments, drift: float) -> SecondMoments:
    """The same with Q multiplied by e^drift: D = c (Q - P) + (c - 1) P."""
    c, more = exp(drift), float(np.expm1(drift))
    cross = c * more * (of.c + of.c.T)
    return SecondMoments(of.a, c * of.c + more * of.a, c * c * of.b + cross + more * more * of.a, of.scale)


def _up(kinds: Subtrees, emissions: list[SecondMoments], rows: Array, apart: Array) -> SecondMoments:
    """The moments of all observations given the state of the root."""
    messages: list[SecondMoments] = []
    for c, group in enumerate(kinds.group):
        local = emissions[min(int(group), len(emissions) - 1)]
        g = min(int(group), len(rows) - 1)
        value = local
        for i in range(kinds.start[c], kinds.start[c + 1]):
            below, count = messages[kinds.child[i]], float(kinds.count[i])
            if count != int(count) or count > 2**53:
                raise NotApplicable("too many children")
            value = value.times(below.power(int(count)))
        if c == len(kinds.group) - 1:
            return value
        message = value.before(rows[g], apart[g])
        turns = int(kinds.repeat[c]) - 1
        if turns > 0:
            count = int(kinds.count[kinds.start[c]])
            size = 3 * rows.shape[-1] ** 2
            if count == 1 and turns > TURNS:
                if size > WIDEST:
                    raise NotApplicable("too many states for so long a chain")
                message = _squared(message, local, rows[g], apart[g], turns)
            else:
                for _ in range(turns):
                    message = local.times(message.power(count)).before(rows[g], apart[g])
        messages.append(message)
    raise AssertionError("a tree has a root")


def _squared(message: SecondMoments, local: SecondMoments, rows: Array, apart: Array, turns: int) -> SecondMoments:
    """`turns` more steps of a chain by powers of the linear map (A, C, B) -> (A, C, B), block by block triangular."""
    k = len(rows)
    size = k * k
    columns = []
    for i in range(3 * size):
        unit = np.zeros(3 * size)
        unit[i] = 1.0
        a, c, b = (part.reshape(k, k) for part in np.split(unit, 3))
        stepped = _linear(SecondMoments(a, c, b), local, rows, apart)
        columns.append(np.concatenate([stepped.a.ravel(), stepped.c.ravel(), stepped.b.ravel()]))
    step, log_step = np.array(columns).T, local.scale
    state = np.concatenate([message.a.ravel(), message.c.ravel(), message.b.ravel()])
    scale = message.scale
    while turns:
        if turns & 1:
            state, scale = step @ state, scale + log_step
            top = state[:size].max()
            state, scale = state / top, scale + float(np.log(top))
        turns >>= 1
        if turns:
            step = step @ step
            top = step[:size, :size].max()
            step, log_step = step / top, 2.0 * log_step + float(np.log(top))
    a, c, b = (part.reshape(k, k) for part in np.split(state, 3))
    return SecondMoments(a, c, b, scale)


def _linear(message: SecondMoments, local: SecondMoments, rows: Array, apart: Array) -> SecondMoments:
    """One turn without any rescaling: `times` and `before`, both linear in the message; C and B may be any matrices.

    The map keeps the moments <u, d> and reads <d, u> as their transpose.
    """
    a, c, b, _ = message
    across = local.c + local.b
    whole = local.a + local.c + local.c.T + local.b
    cross = across.T * c
    value_a = local.a * a
    value_c = c * (local.a + local.c) + a * local.c
    value_b = b * whole + cross + cross.T + a * local.b
    other = rows + apart
    moved = apart @ value_c @ other.T
    return SecondMoments(
        rows @ value_a @ rows.T,
        rows @ (value_c @ other.T + value_a @ apart.T),
        other @ value_b @ other.T + moved + moved.T + apart @ value_a @ apart.T,
    )
