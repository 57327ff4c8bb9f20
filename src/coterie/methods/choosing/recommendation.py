"""What `recommend` answers: a method, its settings, why, and why not the others."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from coterie.methods.choosing.facts import Facts
from coterie.methods.registry import find_method

_WIDTH = 100


@dataclass(frozen=True)
class Alternative:
    """Another method, and why it was not recommended."""

    method: str
    why_not: str


@dataclass(frozen=True)
class Recommendation:
    """A method for some data.

    Attributes
    ----------
    method : str
        Name of the class.
    settings : dict
        Its parameters, where they are not the defaults.
    reasons : str
        Why, in one short paragraph.
    alternatives : tuple of Alternative
        What else comes into question, the next best first.
    facts : Facts
        What the choice goes by.
    """

    method: str
    settings: dict[str, Any]
    reasons: str
    alternatives: tuple[Alternative, ...]
    facts: Facts

    def make(self, **more: Any) -> Any:
        """Return the estimator, not fitted yet, with these settings and `more`."""
        return find_method(self.method).load()(**{**self.settings, **more})

    @property
    def python(self) -> str:
        """The line of Python that fits it."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"model = coterie.{self.method}({given}).fit(X{', y' if self._by_labels else ''})"

    def command(
        self, data: str = "DATA", labels: str | None = None, drop: Sequence[str] = (), *, fill: bool = False
    ) -> str:
        """Return the command line that fits it.

        Parameters
        ----------
        data : str
            Path of the data.
        labels : str, optional
            Path of the labels.
        drop : sequence of str
            Columns of the data to leave out.
        fill : bool
            Whether empty cells are to be filled.
        """
        words = ["coterie", "fit", data, "--method", find_method(self.method).key]
        if "n_clusters" in self.settings:
            words += ["--clusters", str(self.settings["n_clusters"])]
        if self._by_labels:
            words += ["--labels", labels or "LABELS"]
        words += [word for column in drop for word in ("--drop", column)]
        words += ["--fill"] * fill
        return shlex.join([*words, "--out", "run"])

    def as_values(self) -> dict[str, Any]:
        """Return everything in a form JSON keeps."""
        return asdict(self) | {"python": self.python}

    @property
    def _by_labels(self) -> bool:
        return find_method(self.method).uses_labels

    def __str__(self) -> str:
        others = [_wrapped(f"{one.method}: {one.why_not}", "  ") for one in self.alternatives]
        lines = [_wrapped(f"{self.method}: {self.reasons}"), "", f"  {self.python}", "", "Not:", *others]
        return "\n".join(lines)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=2 * indent)
