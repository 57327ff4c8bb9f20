"""Short names of clusters, from what sets each apart: a class word, words of texts, or high and low columns."""

# k clusters

from collections import Counter
from collections.abc import Sequence

from coterie.explore.model_sample import Feature

_CLEAR = 0.5
_PARTS = 2
_WORDS = 3
_MOST_PARTS = 4
_MAJORITY = 0.5
_LONGEST_PART = 28


def automatic_names(
    features: Sequence[Sequence[Feature]], commonest: Sequence[tuple[str, float] | None]
) -> list[str]:
    """Return a name for each cluster, "" where nothing sets it apart; no two are the same.

    A cluster that mostly has one known class takes its word. Others are named by the columns whose means differ most
    from all other rows, by at least half a standard deviation; where two names agree, more columns tell them apart.

    Parameters
    ----------
    features : sequence of sequence of Feature
        Of each cluster, the largest difference first within a view.
    commonest : sequence of (str, float) or None
        The commonest known class of each cluster and its share.

    Examples
    --------
    >>> proline = Feature("wine", "proline", 1.9, 1100.0, 600.0)
    >>> automatic_names([[proline], [], []], [None, ("Barolo", 0.8), None])
    ['high proline', 'Barolo', '']
    """
    phrases = [_phrases(own) for own in features]
    names = [
        _class_word(common) if common is not None and common[1] > _MAJORITY else _joined(own, _PARTS)
        for own, common in zip(phrases, commonest, strict=True)
    ]
    by_class = [common is not None and common[1] > _MAJORITY for common in commonest]
    for parts in range(_PARTS + 1, _MOST_PARTS + 1):
        twice = {name for name, count in Counter(names).items() if name and count > 1}
        for c, name in enumerate(names):
            if name in twice:
                more = _joined(phrases[c], parts - _PARTS if by_class[c] else parts)
                names[c] = f"{_class_word(commonest[c])}, {more}" if by_class[c] and more else more or name
    return _numbered(names)


def _phrases(features: Sequence[Feature]) -> list[str]:
    """Say what each clear difference is, the largest first; words of texts are named where they are frequent."""
    clear = sorted((f for f in features if abs(f.difference) >= _CLEAR), key=lambda f: -abs(f.difference))
    words = [_cut(f.name) for f in clear if f.kind == "word" and f.difference > 0]
    return words or [phrase(f) for f in clear if f.kind != "word"]


def phrase(feature: Feature) -> str:
    """Say in words how the mean of a feature in a cluster differs.

    Examples
    --------
    >>> phrase(Feature("wine", "hue", -1.2, 0.7, 1.0)), phrase(Feature("shop", "city=Oslo", 1.0, 0.9, 0.1, "flag"))
    ('low hue', 'city=Oslo')
    """
    name = _cut(feature.name)
    if feature.kind == "flag":
        return name if feature.difference > 0 else f"not {name}"
    return f"{'high' if feature.difference > 0 else 'low'} {name}"


def _joined(phrases: Sequence[str], parts: int) -> str:
    few = (
        parts
        if any(part.startswith(("high ", "low ", "not ")) for part in phrases)
        else parts + _WORDS - _PARTS
    )
    return ", ".join(phrases[:few])


def _class_word(commonest: tuple[str, float] | None) -> str:
    word = "" if commonest is None else commonest[0]
    return f"class {word}" if word.lstrip("-").isdigit() else _cut(word)


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_PART else plain[: _LONGEST_PART - 1] + "…"


def _numbered(names: list[str]) -> list[str]:
    """Add numbers to names that are still the same."""
    totals, met = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        met[name] += 1
        numbered.append(f"{name} ({met[name]})" if name and totals[name] > 1 else name)
    return numbered
