"""What a person may say about the clusters, and what all of it together means."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from unicodedata import category

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from coterie.errors import InputError

# Whole numbers that every array of row numbers and classes can hold.
Row = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Class = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
MOST_ROWS = 20_000
LONGEST_NAME = 200


class Said(BaseModel):
    """Base of all answers: nothing but the declared fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Label(Said):
    """These rows are of this class."""

    kind: Literal["label"] = "label"
    rows: Annotated[list[Row], Field(min_length=1, max_length=MOST_ROWS)]
    to: Class


class Merge(Said):
    """Two classes are one, under the number and the name of the second."""

    kind: Literal["merge"] = "merge"
    source: Class
    into: Class


class Split(Said):
    """A class is two: some of its rows stay, some go to a new one."""

    kind: Literal["split"] = "split"
    cluster: Class
    new: Class
    stay: Annotated[list[Row], Field(min_length=1, max_length=MOST_ROWS)]
    go: Annotated[list[Row], Field(min_length=1, max_length=MOST_ROWS)]


class Together(Said):
    """These rows are of one class, whichever that is."""

    kind: Literal["together"] = "together"
    rows: Annotated[list[Row], Field(min_length=2, max_length=1000)]


class Apart(Said):
    """These two rows are not of one class."""

    kind: Literal["apart"] = "apart"
    rows: Annotated[list[Row], Field(min_length=2, max_length=2)]


class Name(Said):
    """A class is called this; an empty name takes a name away."""

    kind: Literal["name"] = "name"
    cluster: Class
    name: Annotated[str, Field(max_length=LONGEST_NAME)]

    @field_validator("name")
    @classmethod
    def _one_line(cls, name: str) -> str:
        """Take out line ends and other control characters, which tables of the names could not hold."""
        return " ".join("".join(" " if category(c) == "Cc" else c for c in name).split())


Answer = Annotated[
    Label | Merge | Split | Together | Apart | Name,
    Field(discriminator="kind"),
]
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


@dataclass
class Knowledge:
    """What answers mean together.

    Attributes
    ----------
    labels : dict of int to int
        The classes of single rows.
    merged : dict of int to int
        From a class that was merged away to the class it is part of now.
    silent : set of int
        Classes that were split: only the labels of single rows stand for their parts.
    together, apart : list of (int, int)
        Pairs of rows.
    names : dict of int to str
    """

    labels: dict[int, int] = field(default_factory=dict)
    merged: dict[int, int] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    together: list[tuple[int, int]] = field(default_factory=list)
    apart: list[tuple[int, int]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    @property
    def moves_rows(self) -> bool:
        """Whether anything but names was said."""
        return bool(self.labels or self.merged or self.together or self.apart)

    def for_update(self) -> dict[str, Any]:
        """Return what `Refinement.update` is to be asked."""
        return {
            "y": self.labels or None,
            "must_link": self.together or None,
            "cannot_link": self.apart or None,
            "merged": self.merged | dict.fromkeys(self.silent, -1),
        }


def read_answers(path: Path) -> list[Answer]:
    """Read the answers that the page exported.

    Parameters
    ----------
    path : Path
        What the page calls your answers, JSON.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["answers"]
        return [
            ANSWER.validate_python({key: value for key, value in entry.items() if key != "at"})
            for entry in entries
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:  # of pydantic too
        raise InputError(
            f"{path} does not hold answers; give the file answers.json that the page exports."
        ) from error


def gathered(answers: Iterable[Answer], names: Mapping[int, str] | None = None) -> Knowledge:
    """Put answers together, in their order; of two labels of a row the later one counts.

    Parameters
    ----------
    answers : iterable of Answer
    names : mapping of int to str, optional
        What the classes were called before.

    Examples
    --------
    >>> found = gathered([Label(rows=[4, 5], to=1), Merge(source=1, into=0), Name(cluster=0, name="cats")])
    >>> found.labels, found.merged, found.names
    ({4: 0, 5: 0}, {1: 0}, {0: 'cats'})
    """
    known = Knowledge(names=dict(names or {}))
    for answer in answers:
        match answer:
            case Label():
                known.labels |= dict.fromkeys(answer.rows, answer.to)
            case Merge():
                _merge(known, answer.source, answer.into)
            case Split():
                _split(known, answer)
            case Together():
                known.together += [(answer.rows[0], row) for row in answer.rows[1:]]
            case Apart():
                known.apart.append((answer.rows[0], answer.rows[1]))
            case Name():
                known.names[answer.cluster] = answer.name
    known.names = {number: name for number, name in known.names.items() if name}
    return known


def _merge(known: Knowledge, source: int, into: int) -> None:
    known.labels = {row: into if to == source else to for row, to in known.labels.items()}
    known.merged = {one: into if to == source else to for one, to in known.merged.items()}
    known.merged[source] = into
    known.names.pop(source, None)


def _split(known: Knowledge, answer: Split) -> None:
    known.labels |= dict.fromkeys(answer.stay, answer.cluster) | dict.fromkeys(answer.go, answer.new)
    known.silent |= {answer.cluster} | {one for one, to in known.merged.items() if to == answer.cluster}
