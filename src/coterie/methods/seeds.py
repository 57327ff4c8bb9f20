"""One number that decides everything random."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.utils import check_random_state


def draw_seed(random_state: Any) -> int:
    """Return a whole `random_state` itself, and a number drawn from any other.

    Examples
    --------
    >>> draw_seed(7)
    7
    """
    generator = check_random_state(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(generator.randint(2**31 - 1))
