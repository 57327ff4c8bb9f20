"""What `history_` says about the training, ready to be drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

VIEW_WEIGHT = "view_weight_"  # and the number of the view
# What a record may count by; the counter's name says what the record is of.
_COUNTERS = ("epoch", "iteration", "sweep", "step")


@dataclass(frozen=True)
class Curve:
    """One quantity over the training; None where a record does not have it."""

    name: str
    values: list[float | None]


@dataclass(frozen=True)
class Phase:
    """A stretch of the training, from position `start` to position `stop`, both included."""

    name: str
    start: int
    stop: int

    @property
    def words(self) -> str:
        """The name with its positions.

        Examples
        --------
        >>> Phase("warm-up", 1, 4).words, Phase("cluster", 5, 5).words
        ('warm-up (1 to 4)', 'cluster (5)')
        """
        return (
            f"{self.name} ({self.start})"
            if self.start == self.stop
            else f"{self.name} ({self.start} to {self.stop})"
        )


@dataclass(frozen=True)
class Training:
    """All curves over common positions 1, 2, ..., one per record.

    Attributes
    ----------
    steps : int
        How many records there are.
    curves : list of Curve
        In the order in which their names first appear.
    phases : list of Phase
        Empty when the records do not name phases.
    seconds : float or None
        Sum over the records' "seconds".
    unit : str
        What a record is of, such as "epoch" or "iteration"; "step" where records are of several kinds.
    """

    steps: int
    curves: list[Curve]
    phases: list[Phase]
    seconds: float | None
    unit: str


def curve_title(name: str, views: Sequence[str]) -> str:
    """Return what a curve is called on the page; what is of one view has the name of that view.

    Examples
    --------
    >>> curve_title("view_weight_1", ["sight", "sound_2"]), curve_title("false_mass", ["sight"])
    ('weight of sound_2', 'false mass')
    """
    number = name.removeprefix(VIEW_WEIGHT)
    if number != name and number.isdecimal() and int(number) < len(views):
        return f"weight of {views[int(number)]}"
    return name.replace("_", " ")


def read_history(history: Sequence[Mapping[str, Any]]) -> Training:
    """Collect the numbers of a history by name.

    Positions, not the records' own "epoch", are the common axis, because epochs start again in each phase.

    Parameters
    ----------
    history : sequence of mappings
        One record per epoch or iteration. Entries that are not numbers are not drawn.

    Returns
    -------
    Training
        The curves, phases and total time.

    Examples
    --------
    >>> read_history([{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.5}]).curves
    [Curve(name='loss', values=[2.0, 1.5])]
    """
    known = {str(name): None for record in history for name in record if name not in (*_COUNTERS, "phase")}
    curves = [Curve(name, [_number(record.get(name)) for record in history]) for name in known]
    curves = [curve for curve in curves if any(value is not None for value in curve.values)]
    seconds = next((curve.values for curve in curves if curve.name == "seconds"), None)
    total = None if seconds is None else sum(value or 0.0 for value in seconds)
    return Training(len(history), curves, _phases(history), total, _unit(history))


def _unit(history: Sequence[Mapping[str, Any]]) -> str:
    """Return what the records count by; epochs where they do not say.

    Examples
    --------
    >>> _unit([{"sweep": 0}, {"sweep": 1}]), _unit([{"epoch": 0}, {"sweep": 0}]), _unit([{"loss": 1.0}])
    ('sweep', 'step', 'epoch')
    """
    units = {next((name for name in _COUNTERS if name in record), "epoch") for record in history}
    return units.pop() if len(units) == 1 else "step" if units else "epoch"


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
