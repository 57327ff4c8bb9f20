"""Options of a method: what its paper names and a researcher sets, in one frozen object beside the parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from coterie.errors import InputError
from coterie.methods.params import Rule, check_params

PREFIX = "options__"
"""What stands before the name of an option in `get_params` and `set_params` of an estimator."""


def option(default: Any, rule: Rule) -> Any:
    """Return a field of options with its default and the constraint that `fit` checks."""
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True, kw_only=True, repr=False)
class Options:
    """Base of the options of a method: a frozen dataclass that remembers which of its values were given.

    Where a preset has other values than the defaults, those that were given count, also where they equal a default.
    """

    _given: ClassVar[frozenset[str]]

    def __new__(cls, **given: Any) -> Self:
        """Take note of the names that are given."""
        self = super().__new__(cls)
        object.__setattr__(self, "_given", frozenset(given))
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.given().items())
        return f"{type(self).__name__}({given})"

    def __sklearn_clone__(self) -> Self:
        return self  # nothing can change it, and a copy made of all values would count all of them as given

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all options."""
        return [one.name for one in fields(cls)]

    def given(self) -> dict[str, Any]:
        """Return the values that were given."""
        return {name: getattr(self, name) for name in self.names() if name in self._given}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all values by name.

        Parameters
        ----------
        deep : ignored

        Returns
        -------
        dict
        """
        return {name: getattr(self, name) for name in self.names()}

    def set_params(self, **changes: Any) -> Self:
        """Return a copy with other values: options are frozen.

        Parameters
        ----------
        **changes

        Returns
        -------
        Options
        """
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
        rules = {one.name: one.metadata["rule"] for one in fields(self)}
        check_params(type(self).__name__, self.get_params(), rules)
