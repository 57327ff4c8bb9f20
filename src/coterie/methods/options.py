"""Options of a method: what its paper names and a researcher sets, in one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields
from typing import Any, ClassVar, Self

from coterie.errors import InputError
from coterie.methods.params import Rule, check_params, real

PREFIX = "options__"
"""What stands before the name of an option in `get_params` and `set_params` of an estimator."""


def option(default: Any, rule: Rule) -> Any:
    """Return a field of options with its default and the constraint that `fit` checks."""
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True, kw_only=True, repr=False)
class Options:
    """Base of the options of a method: a frozen dataclass that remembers which of its values were given.

    A preset replaces the defaults, but not values that were given, even where they equal a default.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """Options of earlier versions and their present names."""

    gone: ClassVar[Mapping[str, str]] = {}
    """Options of earlier versions that are no more, and why."""

    _given: InitVar[frozenset[str]] = frozenset()

    def __new__(cls, _given: frozenset[str] | None = None, **values: Any) -> Self:
        """Remember the names that are given; `dataclasses.replace` gives all values, and those of before."""
        refuse_renamed(cls, values)
        names = frozenset(values)
        if _given is not None:
            usual = {field.name: field.default for field in fields(cls)}
            names = _given | {name for name in names if values[name] != usual[name]}
        self = super().__new__(cls)
        object.__setattr__(self, "_given", names)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.given().items())
        return f"{type(self).__name__}({given})"

    def __sklearn_clone__(self) -> Self:
        return self  # nothing can change it, and a copy made of all values would count all of them as given

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all options."""
        return [field.name for field in fields(cls)]

    def given(self) -> dict[str, Any]:
        """Return the values that were given."""
        return {name: getattr(self, name) for name in self.names() if name in vars(self)["_given"]}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all values by name."""
        return {name: getattr(self, name) for name in self.names()}

    def set_params(self, **changes: Any) -> Self:
        """Return a copy with other values: options are frozen."""
        refuse_renamed(type(self), changes)
        for name in changes:
            if name not in self.names():
                known = ", ".join(self.names())
                raise InputError(f"{type(self).__name__} has no option {name!r}; the options are: {known}.")
        return type(self)(**(self.given() | changes))

    def over(self, preset: Self | None) -> Self:
        """Return these options with a preset's values where none was given."""
        return self if preset is None else preset.set_params(**self.given())

    def check(self) -> None:
        """Raise one sentence that names the first value that breaks its rule."""
        rules = {field.name: field.metadata["rule"] for field in fields(self)}
        check_params(type(self).__name__, self.get_params(), rules)


def refuse_renamed(options: type[Options], given: Mapping[str, Any]) -> None:
    """Raise the sentence of the first option that has another name now, or is gone."""
    for name, value in given.items():
        if name in options.gone:
            raise InputError(f"{name} is gone: {options.gone[name]}.")
        if name in options.renamed:
            new = options.renamed[name]
            raise InputError(f"{name} is now called {new}: {options.__name__}({new}={value!r}).")


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainingOptions(Options):
    """Options of a method that trains a network, the first `warmup` of its epochs without clusters."""

    warmup: float = option(0.8, real(0, 1))
