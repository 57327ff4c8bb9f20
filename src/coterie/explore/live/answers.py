"""The answers that a person may give about the clusters, and the corrections that they add up to."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from unicodedata import category

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from coterie.errors import InputError

# Whole numbers that every array of row numbers and classes can hold.
Row = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Class = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=20_000)]
LONGEST_NAME = 200


class Strict(BaseModel):
    """Base of what a page sends: nothing but the declared fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Label(Strict):
    """These rows are of this class."""

    kind: Literal["label"] = "label"
    rows: Rows
    to: Class


class Merge(Strict):
    """Two classes are one, under the number and the name of the second."""

    kind: Literal["merge"] = "merge"
    source: Class
    into: Class


class Split(Strict):
    """A class is two: some of its rows stay, some go to a new one."""

    kind: Literal["split"] = "split"
    cluster: Class
    new: Class
    stay: Rows
    go: Rows


class Together(Strict):
    """These rows are of one class, whichever that is."""

    kind: Literal["together"] = "together"
    rows: Annotated[list[Row], Field(min_length=2, max_length=1000)]


class Apart(Strict):
    """These two rows are not of one class."""

    kind: Literal["apart"] = "apart"
    rows: Annotated[list[Row], Field(min_length=2, max_length=2)]


class Name(Strict):
    """A class has this name; an empty one removes it."""

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
class Corrections:
    """What answers add up to.

    Attributes
    ----------
    labels : dict of int to int
        The classes of single rows.
    merged : dict of int to int
        From a class that was merged away to the class it is part of now.
    split : set of int
        Classes that were split: only the labels of single rows stand for their parts.
    must_link, cannot_link : list of (int, int)
        Pairs of rows.
    names : dict of int to str
    """

    labels: dict[int, int] = field(default_factory=dict)
    merged: dict[int, int] = field(default_factory=dict)
    split: set[int] = field(default_factory=set)
    must_link: list[tuple[int, int]] = field(default_factory=list)
    cannot_link: list[tuple[int, int]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    @property
    def move_rows(self) -> bool:
        """Whether there is anything but names."""
        return bool(self.labels or self.merged or self.must_link or self.cannot_link)

    def for_update(self) -> dict[str, Any]:
        """Return the arguments of `Refinement.update`."""
        return {
            "y": self.labels or None,
            "must_link": self.must_link or None,
            "cannot_link": self.cannot_link or None,
            "merged": self.merged | dict.fromkeys(self.split, -1),
        }

    def add(self, answer: Answer) -> None:
        """Add an answer; of two labels of a row the later one counts."""
        match answer:
            case Label():
                self.labels |= dict.fromkeys(answer.rows, answer.to)
            case Merge(source=source, into=into):
                self.labels = {row: into if to == source else to for row, to in self.labels.items()}
                self.merged = {gone: into if to == source else to for gone, to in self.merged.items()}
                self.merged[source] = into
                self.names.pop(source, None)
            case Split(cluster=cluster):
                self.labels |= dict.fromkeys(answer.stay, cluster) | dict.fromkeys(answer.go, answer.new)
                self.split |= {cluster} | {gone for gone, to in self.merged.items() if to == cluster}
            case Together(rows=[first, *rest]):
                self.must_link += [(first, row) for row in rest]
            case Apart(rows=[first, second]):
                self.cannot_link.append((first, second))
            case Name():
                self.names[answer.cluster] = answer.name


def combine(answers: Iterable[Answer], names: Mapping[int, str] | None = None) -> Corrections:
    """Add answers up in their order, from the names that classes had before.

    Examples
    --------
    >>> corrections = combine([Label(rows=[4, 5], to=1), Merge(source=1, into=0), Name(cluster=0, name="cats")])
    >>> corrections.labels, corrections.merged, corrections.names
    ({4: 0, 5: 0}, {1: 0}, {0: 'cats'})
    """
    corrections = Corrections(names=dict(names or {}))
    for answer in answers:
        corrections.add(answer)
    corrections.names = {number: name for number, name in corrections.names.items() if name}
    return corrections


def labels_digest(labels: Any) -> str:
    """Return a digest of the label of every row, which is what answers are about.

    Examples
    --------
    >>> labels_digest([0, 1, 1]) == labels_digest([0, 1, 0])
    False
    """
    return hashlib.sha256(np.asarray(labels, dtype="<i8").tobytes()).hexdigest()[:16]


def read_answers(path: Path, of: str | None = None) -> list[Answer]:
    """Read the answers.json that the page exports; answers about labels of another digest are refused."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        answers = [
            ANSWER.validate_python({key: value for key, value in entry.items() if key != "at"})
            for entry in content["answers"]
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:  # of pydantic too
        raise InputError(
            f"{path} does not hold answers; give the file answers.json that the page exports."
        ) from error
    if of is not None and content.get("of", of) != of:
        raise InputError(
            f"{path} holds answers about the clusters of another run; give those about this one."
        )
    return answers
