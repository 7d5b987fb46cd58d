"""The expected posterior divergence, joint - observed by the chain rule (definitions (5.1))."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isinf

from hidiv.divergences.result import Divergence

ROUNDING = 1e-12  # relative, allowed for the joint divergence where the difference is certified


def expected_posterior(joint: Divergence, observed: Divergence, finite: bool = False) -> Divergence:
    """E_{X ~ p} D( p(S | X) || q(S | X) ) = joint - observed, with the status of the observed divergence.

    Bounds and errors of the observed divergence carry over. It is +inf where the joint one alone is infinite, which is
    exact if the observed one is `finite` for certain, as one that is exact or certified always is.

    >>> import hidiv as hd
    >>> from hidiv.divergences.posterior.expected import expected_posterior
    >>> joint, observed = hd.Divergence(3.0, "joint"), hd.Divergence(1.0, "observed", "certified", 0.5, 1.5)
    >>> expected = expected_posterior(joint, observed)
    >>> expected.value, round(expected.lower, 9), round(expected.upper, 9)
    (2.0, 1.5, 2.5)
    """
    notes = ["it is the joint divergence less the observed one, by the chain rule", *joint.notes[:1]]
    if isinf(joint.value):
        # That the difference is infinite is as sure as that the observed divergence is finite.
        if finite or observed.status in ("exact", "certified"):
            because = "the joint divergence is infinite and the observed one is not"
            return Divergence(
                inf, "posterior", per=observed.per, infinite=[because], notes=notes, subject=observed.subject
            )
        shown = "as far as draws show" if observed.status == "estimate" else "as far as its approximation shows"
        because = f"the joint divergence is infinite and the observed one, {shown}, is not"
        return replace(
            observed, value=inf, quantity="posterior", lower=None, upper=None, std_error=None, error=None,
            infinite=[because], notes=notes, certificate=None,
        )  # fmt: skip
    room = ROUNDING * joint.value
    value = joint.value - observed.value
    if abs(value) <= room:
        notes.append("no larger than the rounding of the two")
        value = max(value, 0.0) if observed.status != "estimate" else value
    lower, upper = (None if bound is None else joint.value - bound for bound in (observed.upper, observed.lower))
    certificate = None
    if observed.status == "certified" and lower is not None and upper is not None:
        # Nothing but rounding can bring a divergence below zero.
        lower, upper = max(lower - room, 0.0), upper + room
        value = max(value, 0.0)
        certificate = {"method": "chain rule", "rounding_of_joint": room, "observed": observed.certificate}
    return replace(
        observed, value=value, quantity="posterior", lower=lower, upper=upper, notes=notes, certificate=certificate
    )
