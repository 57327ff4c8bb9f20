"""Constraints on an estimator's parameters, declared once as data and checked in `fit`; the seed of a fit."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from coterie.errors import InputError

Rule = tuple[Callable[[Any], bool], str]


def whole(low: int, high: int | None = None) -> Rule:
    """Accept an integer between two bounds.

    Examples
    --------
    >>> accepts, wording = whole(1)
    >>> accepts(3), accepts(2.5), wording
    (True, False, 'a whole number of at least 1')
    """
    words = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    return lambda v: _is_whole(v) and v >= low and (high is None or v <= high), words


def real(low: float, high: float = math.inf, *, above: bool = False) -> Rule:
    """Accept a finite number between two bounds; `above` leaves the lower bound itself out.

    Examples
    --------
    >>> accepts, wording = real(0, above=True)
    >>> accepts(0.0), accepts(1e-9), wording
    (False, True, 'a number above 0')
    """
    words = f"a number above {low:g}" if above else f"a number of at least {low:g}"
    if high < math.inf:
        words += f" and at most {high:g}"

    def accepts(value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
            return False
        number = float(value)
        return (number > low if above else number >= low) and number <= high

    return accepts, words


def one_of(*options: Any) -> Rule:
    """Accept one of these values.

    Examples
    --------
    >>> one_of("a", None)[1]
    "'a' or None"
    """
    words = [repr(option) for option in options]
    listed = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return lambda v: any(
        v is option or (type(v) is type(option) and v == option) for option in options
    ), listed


def flag() -> Rule:
    """Accept True or False."""
    return lambda v: isinstance(v, (bool, np.bool_)), "True or False"


def a_kind_of(kind: Any, words: str) -> Rule:
    """Accept an instance of a class."""
    return lambda v: isinstance(v, kind), words


def sizes(words: str = "a sequence of positive whole numbers") -> Rule:
    """Accept a tuple or list of positive whole numbers."""
    return lambda v: isinstance(v, (tuple, list)) and all(_is_whole(size) and size > 0 for size in v), words


def rising(high: float = math.inf) -> Rule:
    """Accept two numbers from 0 to a bound, the second the larger; without a bound they must differ.

    Examples
    --------
    >>> accepts, wording = rising(1)
    >>> accepts((0.2, 0.5)), accepts((0.5, 0.2)), wording
    (True, False, 'two rising numbers of at least 0 and at most 1')
    """
    accepts_number, words = real(0, high)

    def accepts(value: Any) -> bool:
        pair = isinstance(value, (tuple, list)) and len(value) == 2 and all(map(accepts_number, value))
        return pair and (value[0] < value[1] or (high < math.inf and value[0] == value[1]))

    return accepts, words.replace("a number", "two rising numbers")


def either(*rules: Rule) -> Rule:
    """Accept what any of the rules accepts.

    Examples
    --------
    >>> either(whole(0), one_of("auto"))[1]
    "a whole number of at least 0 or 'auto'"
    """
    return lambda v: any(accepts(v) for accepts, _ in rules), " or ".join(words for _, words in rules)


def cluster_count() -> Rule:
    """Accept a number of clusters, or "auto" where the data shall tell."""
    return either(whole(1), one_of("auto"))


def check_params(owner: str, params: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise one sentence that names the first parameter that breaks its rule.

    Examples
    --------
    >>> check_params("PCX", {"n_clusters": 0}, {"n_clusters": whole(1)})
    Traceback (most recent call last):
    coterie.errors.InputError: n_clusters=0 does not fit PCX: it must be a whole number of at least 1.
    """
    for name, (accepts, words) in rules.items():
        if not accepts(params[name]):
            raise InputError(f"{name}={params[name]!r} does not fit {owner}: it must be {words}.")


def draw_seed(random_state: Any) -> int:
    """Return a whole `random_state` itself, and a number drawn from any other."""
    try:
        generator = check_random_state(random_state)
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r} is no seed: it must be a whole number from 0 to {2**32 - 1}, a "
            "RandomState or None."
        ) from error
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(generator.randint(2**31 - 1))


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
