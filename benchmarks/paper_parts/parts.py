"""How a method's table of parts is declared: regimes, and of each part what a fit has with it and without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Regime:
    """How a method is run: its parameters, options among them, and the method where it is another one.

    Attributes
    ----------
    words : str
        What the docs call it.
    """

    words: str
    params: Params = field(default_factory=dict)
    method: str | None = None


@dataclass(frozen=True)
class Part:
    """A part of a paper, and the changes of a regime's parameters that put it in and take it out.

    Attributes
    ----------
    name : str
        As the paper names it.
    where : str
        Its equation or section.
    regimes : mapping of str to (mapping, mapping)
        By regime the changes with the part and without it; a regime that is not named cannot have the part.
    conditions : sequence of str
        Conditions of the data under which the paper claims that it helps; all that are asked for by default.
    """

    name: str
    where: str
    regimes: Mapping[str, tuple[Params, Params]]
    conditions: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """The table of a method.

    Attributes
    ----------
    method : str
        As the registry names it.
    title : str
        As the paper calls it.
    regimes : mapping of str to Regime
        "paper" is its preset, "ours" the defaults on the graph start; "corrected" has our corrections without the
        graph, "graph" is the graph start alone.
    parts : sequence of Part
    sets : sequence of str
    rows : int or None
        Rows of a set that are fitted at most, by default.
    conditions : sequence of str
        What is done to the data by default.
    sweeps : mapping of str to (str, sequence)
        Parameters that the paper varies one by one, in its own regime: where, and the values.
    """

    method: str
    title: str
    regimes: Mapping[str, Regime]
    parts: Sequence[Part]
    sets: Sequence[str]
    rows: int | None = None
    conditions: Sequence[str] = ("complete",)
    sweeps: Mapping[str, tuple[str, Sequence[Any]]] = field(default_factory=dict)

    def changes(self, regime: str, condition: str) -> Iterator[Params]:
        """Yield the different changes of a regime's parameters that its parts need, none first.

        Examples
        --------
        >>> unit = Part("unit", "Eq. 3", {"paper": ({}, {"ci_unit": False})})
        >>> [*Paper("pcx", "PC-X", {"paper": Regime("as printed")}, [unit], ["usps"]).changes("paper", "complete")]
        [{}, {'ci_unit': False}]
        """
        wanted: list[Params] = [{}]
        for part in self.parts:
            if regime in part.regimes and (not part.conditions or condition in part.conditions):
                wanted += part.regimes[regime]
        if regime == "paper":
            wanted += [{name: value} for name, (_, values) in self.sweeps.items() for value in values]
        yield from (change for i, change in enumerate(wanted) if change not in wanted[:i])
