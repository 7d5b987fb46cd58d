"""How sentences name two models on a tree."""

from __future__ import annotations

from hidiv.divergences.pair import subject as subject
