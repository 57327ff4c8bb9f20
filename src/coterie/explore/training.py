"""Training curves, phases and metrics from a model's `history_`, ready to be drawn."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

_VIEW_WEIGHT = "view_weight_"  # and the number of the view
# What a record may count by; the counter's name says what the record is of.
_COUNTERS = ("epoch", "iteration", "sweep", "step")
# From the name in a record to the name on the page and what it means: metrics from 0 to 1, which share one figure.
_SHARES = {
    "changed": (
        "Changed rows",
        "Share of rows whose cluster changed since the previous epoch; 1 in the first.",
    ),
    "mean_votes": (
        "Neighbour agreement",
        "Share of a row's neighbours that are in its own cluster, each weighted by the number of views that name "
        "it; mean over rows.",
    ),
    "gate": (
        "Gate",
        "How far the gate is open. It opens as the mean uncertainty grows; the further it is open, the less "
        "possible false negatives are protected.",
    ),
    "hard_share": (
        "Hard negatives",
        "Share of the routed rows that were treated as hard negatives; the others were treated as false negatives.",
    ),
    "route_consistency": (
        "Route consistency",
        "Of the rows routed both in this epoch and in the previous one, the share with the same route.",
    ),
    "false_mass": (
        "Repulsion by false negatives",
        "Share of the repulsion on a row that comes from possible false negatives, its neighbours in other clusters.",
    ),
    "safe_share": (
        "Safe rows",
        "Share of rows that possible false negatives do not push away from the centre of their own cluster.",
    ),
}
# And the others, each on a scale of its own.
_AMOUNTS = {
    "routed": ("Routed rows", "Number of uncertain rows that were treated as false or as hard negatives."),
    "false_limit": (
        "Repulsion limit",
        "Mean share of repulsion by false negatives up to which a row is safe; at 1 or above every row is.",
    ),
    "separation_gain": (
        "Separation gain",
        "How fast a step moves hard negatives towards their own centre and away from the next; below 0 the reverse.",
    ),
    "pseudo_variance": (
        "Variance of pseudo-rows",
        "How much the rows synthesised for small clusters make the cluster means vary.",
    ),
}
# Votes are neighbours in the own cluster minus those elsewhere, over all.
_TO_SHARE: dict[str, Callable[[float], float]] = {"mean_votes": lambda votes: (1 + votes) / 2}


@dataclass(frozen=True)
class Curve:
    """One quantity over the training; None where a record does not have it."""

    name: str
    values: list[float | None]


@dataclass(frozen=True)
class Phase:
    """A stretch of the training, from step `start` to step `stop`, both included."""

    name: str
    start: int
    stop: int

    @property
    def words(self) -> str:
        """The name with its steps, such as 'warm-up (1 to 4)'."""
        steps = f"{self.start}" if self.start == self.stop else f"{self.start} to {self.stop}"
        return f"{self.name} ({steps})"


@dataclass(frozen=True)
class Training:
    """All curves over common steps 1, 2, ..., one per record.

    `phases` is empty when the records name none, `seconds` is the sum over the records, and `unit` is what a record
    is of: "epoch", "iteration", "sweep", or "step" where records are of several kinds.
    """

    steps: int
    curves: list[Curve]
    phases: list[Phase]
    seconds: float | None
    unit: str


@dataclass(frozen=True)
class Metric:
    """One quantity over the epochs, None where it was not measured, and what it means."""

    name: str
    meaning: str
    values: list[float | None]


@dataclass(frozen=True)
class TrainingMetrics:
    """Metrics with a known meaning, from epoch `first` (counted from 1) on: shares from 0 to 1, and amounts."""

    first: int
    steps: int
    shares: list[Metric]
    amounts: list[Metric]


def curve_title(name: str, views: Sequence[str]) -> str:
    """Return the title of a curve; the weight of a view is called by the name of the view.

    Examples
    --------
    >>> curve_title("view_weight_1", ["sight", "sound_2"]), curve_title("false_mass", ["sight"])
    ('weight of sound_2', 'false mass')
    """
    number = name.removeprefix(_VIEW_WEIGHT)
    if number != name and number.isdecimal() and int(number) < len(views):
        return f"weight of {views[int(number)]}"
    return name.replace("_", " ")


def read_history(history: Sequence[Mapping[str, Any]]) -> Training:
    """Collect the numbers of a history by name; entries that are not numbers are not drawn.

    Positions, not the records' own "epoch", are the common axis, because epochs start again in each phase.

    Examples
    --------
    >>> read_history([{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.5}]).curves
    [Curve(name='loss', values=[2.0, 1.5])]
    """
    names = {str(name): None for record in history for name in record if name not in (*_COUNTERS, "phase")}
    curves = [Curve(name, [_number(record.get(name)) for record in history]) for name in names]
    curves = [curve for curve in curves if any(value is not None for value in curve.values)]
    seconds = next((curve.values for curve in curves if curve.name == "seconds"), None)
    total = None if seconds is None else sum(value or 0.0 for value in seconds)
    units = {next((name for name in _COUNTERS if name in record), "epoch") for record in history} or {"epoch"}
    return Training(len(history), curves, _phases(history), total, units.pop() if len(units) == 1 else "step")


def _number(value: Any) -> float | None:
    """Return a finite number as a float, anything else as None."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) else None


def _phases(history: Sequence[Mapping[str, Any]]) -> list[Phase]:
    phases: list[Phase] = []
    for position, record in enumerate(history, start=1):
        name = str(record.get("phase", ""))
        if phases and phases[-1].name == name:
            phases[-1] = Phase(name, phases[-1].start, position)
        else:
            phases.append(Phase(name, position, position))
    return phases if any(phase.name for phase in phases) else []


def read_training_metrics(training: Training, views: Sequence[str]) -> TrainingMetrics | None:
    """Pick the curves whose meaning is known; None where there is none.

    The weight of a single view is always 1 and is left out.

    Examples
    --------
    >>> history = [{"loss": 3.0}, {"changed": 1.0}, {"changed": 0.25}]
    >>> metrics = read_training_metrics(read_history(history), ["X"])
    >>> metrics.first, metrics.shares[0].name, metrics.shares[0].values
    (2, 'Changed rows', [1.0, 0.25])
    """
    curves = {curve.name: curve.values for curve in training.curves}
    weights = enumerate(views) if len(views) > 1 else ()
    shares = _SHARES | {
        f"{_VIEW_WEIGHT}{v}": (f"Weight of {view}", "Weight of this view in the consensus.")
        for v, view in weights
    }
    measured = [curves[name] for name in (*shares, *_AMOUNTS) if name in curves]
    if not measured:
        return None
    first = min(next(i for i, value in enumerate(values) if value is not None) for values in measured)

    def metrics(meanings: dict[str, tuple[str, str]]) -> list[Metric]:
        return [
            Metric(*meanings[name], [_scaled(name, value) for value in curves[name][first:]])
            for name in meanings
            if name in curves
        ]

    return TrainingMetrics(first + 1, training.steps - first, metrics(shares), metrics(_AMOUNTS))


def _scaled(name: str, value: float | None) -> float | None:
    return None if value is None else _TO_SHARE.get(name, float)(value)
