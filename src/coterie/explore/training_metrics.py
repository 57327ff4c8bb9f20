"""What a model that tells ambiguous rows apart measured while it trained, in plain words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coterie.explore.training import VIEW_WEIGHT, Curve, Training

# From the name in a record to its name here and what it means: numbers from 0 to 1, which share one figure.
_SHARES = {
    "changed": (
        "Changed rows",
        "Share of the rows that changed their cluster since the epoch before; all when there was none.",
    ),
    "mean_votes": (
        "Neighbours at home",
        "Share of a row's neighbours that are in its own cluster, each counted by how many views name it; the mean "
        "over rows.",
    ),
    "gate": (
        "Gate",
        "How far the gate is open: the more uncertain rows are on average, the further it opens, and the less are "
        "possible false negatives spared.",
    ),
    "hard_share": (
        "Hard negatives",
        "Share of the routed rows that were taken for hard negatives; the others were taken for false ones.",
    ),
    "route_consistency": (
        "Kept routes",
        "Of the rows routed both in this epoch and in the one before, the share with the same route.",
    ),
    "false_mass": (
        "Repulsion by false negatives",
        "Share of what repels a row that comes from possible false negatives, its neighbours in other clusters.",
    ),
    "safe_share": (
        "Safe rows",
        "Share of the rows that possible false negatives do not drive away from the centre of their own cluster.",
    ),
}
# And the others, each on a scale of its own.
_AMOUNTS = {
    "routed": (
        "Routed rows",
        "How many uncertain rows were told apart in the epoch, as false or as hard negatives.",
    ),
    "false_limit": (
        "Limit of that repulsion",
        "The share of the repulsion up to which rows are safe, on average; at 1 or above every share is safe.",
    ),
    "separation_gain": (
        "Separation gain",
        "How fast a step takes hard negatives to their own centre and from the next; below 0 the other way.",
    ),
    "pseudo_variance": (
        "Variance of pseudo-rows",
        "How much the rows made up for small clusters make their means waver.",
    ),
}
# Votes are neighbours at home less those elsewhere, over all.
_TO_SHARE: dict[str, Callable[[float], float]] = {"mean_votes": lambda votes: (1 + votes) / 2}


@dataclass(frozen=True)
class Measure:
    """One quantity over the epochs, None where it was not measured, and what it means."""

    name: str
    meaning: str
    values: list[float | None]

    @property
    def known(self) -> list[float]:
        """The values that were measured, in order."""
        return [value for value in self.values if value is not None]


@dataclass(frozen=True)
class TrainingMetrics:
    """All that was measured.

    Attributes
    ----------
    first, steps : int
        The first epoch with a measurement, counted from 1, and how many epochs there are from it on.
    shares : list of Measure
        From 0 to 1.
    amounts : list of Measure
        On scales of their own.
    """

    first: int
    steps: int
    shares: list[Measure]
    amounts: list[Measure]


def read_course(training: Training, views: Sequence[str]) -> TrainingMetrics | None:
    """Pick from the curves of a training those whose meaning is known; None where there is none.

    Parameters
    ----------
    training : Training
        From `coterie.explore.training.read_history`.
    views : sequence of str
        Names of the views; the weight of a single one is always 1 and is left out.

    Examples
    --------
    >>> from coterie.explore.training import read_history
    >>> found = read_course(read_history([{"loss": 3.0}, {"changed": 1.0}, {"changed": 0.25}]), ["X"])
    >>> found.first, found.shares[0].name, found.shares[0].values
    (2, 'Changed rows', [1.0, 0.25])
    """
    curves = {curve.name: curve for curve in training.curves}
    shares = dict(_SHARES)
    if len(views) > 1:
        for v, view in enumerate(views):
            shares[f"{VIEW_WEIGHT}{v}"] = (f"Weight of {view}", "What this view counts in the consensus.")
    measured = [curves[name] for name in (*shares, *_AMOUNTS) if name in curves]
    if not measured:
        return None
    first = min(_first(curve) for curve in measured)

    def measures(meanings: dict[str, tuple[str, str]]) -> list[Measure]:
        return [
            Measure(*meanings[name], _values(curves[name])[first:]) for name in meanings if name in curves
        ]

    return TrainingMetrics(first + 1, training.steps - first, measures(shares), measures(_AMOUNTS))


def _first(curve: Curve) -> int:
    return next(at for at, value in enumerate(curve.values) if value is not None)


def _values(curve: Curve) -> list[float | None]:
    turn = _TO_SHARE.get(curve.name, float)
    return [None if value is None else turn(value) for value in curve.values]
