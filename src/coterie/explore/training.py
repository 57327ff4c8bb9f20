"""Training curves, their phases and what they mean, from a model's `history_`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

_VIEW_WEIGHT = "view_weight_"  # and the number of the view
# What a record may count by; the counter's name says what the record is of.
_COUNTERS = ("epoch", "iteration", "sweep", "step")
# From the name in a record to the title on the page and what it means.
_MEANINGS = {
    "changed": (
        "changed rows",
        "Share of rows whose cluster changed since the previous epoch; 1 in the first.",
    ),
    "mean_votes": (
        "neighbour agreement",
        "Share of a row's neighbours in its own cluster minus the share elsewhere, each weighted by the number of "
        "views that name it; mean over rows.",
    ),
    "gate": (
        "gate",
        "How far the gate is open. It opens as the mean uncertainty grows; the further it is open, the less "
        "possible false negatives are protected.",
    ),
    "hard_share": (
        "hard negatives",
        "Share of the routed rows that were treated as hard negatives; the others were treated as false negatives.",
    ),
    "route_consistency": (
        "route consistency",
        "Of the rows routed both in this epoch and in the previous one, the share with the same route.",
    ),
    "false_mass": (
        "repulsion by false negatives",
        "Share of the repulsion on a row that comes from possible false negatives, its neighbours in other clusters.",
    ),
    "safe_share": (
        "safe rows",
        "Share of rows that possible false negatives do not push away from the centre of their own cluster.",
    ),
    "routed": ("routed rows", "Number of uncertain rows that were treated as false or as hard negatives."),
    "false_limit": (
        "repulsion limit",
        "Mean share of repulsion by false negatives up to which a row is safe; at 1 or above every row is.",
    ),
    "separation_gain": (
        "separation gain",
        "How fast a step moves hard negatives towards their own centre and away from the next; below 0 the reverse.",
    ),
    "pseudo_variance": (
        "variance of pseudo-rows",
        "How much the rows synthesised for small clusters make the cluster means vary.",
    ),
}


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


def curve_title(name: str, views: Sequence[str]) -> str:
    """Return the title of a curve; the weight of a view is called by the name of the view.

    Examples
    --------
    >>> curve_title("view_weight_1", ["sight", "sound_2"]), curve_title("changed", []), curve_title("ssc_loss", [])
    ('weight of sound_2', 'changed rows', 'ssc loss')
    """
    number = name.removeprefix(_VIEW_WEIGHT)
    if number != name and number.isdecimal() and int(number) < len(views):
        return f"weight of {views[int(number)]}"
    return _MEANINGS[name][0] if name in _MEANINGS else name.replace("_", " ")


def curve_meaning(name: str) -> str:
    """Return what a training metric means; an empty text for other curves."""
    if name.startswith(_VIEW_WEIGHT):
        return "Weight of this view in the consensus."
    return _MEANINGS[name][1] if name in _MEANINGS else ""


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
