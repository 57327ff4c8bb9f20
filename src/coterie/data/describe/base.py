"""What describes things that are no numbers as rows of numbers: fitted once, and saved without code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted


class Description(TransformerMixin, BaseEstimator):
    """Base of the transformers that make rows of numbers from texts, pictures, series or cells.

    A subclass names in `_values` and `_arrays` what `fit` learns: values that JSON holds, and arrays. Both are saved
    with a run, so that new things are described as those of the fit were.
    """

    _values: ClassVar[tuple[str, ...]] = ()
    _arrays: ClassVar[tuple[str, ...]] = ()

    @property
    def sentence(self) -> str:
        """What was done to the things, in one sentence."""
        raise NotImplementedError

    @property
    def settings(self) -> dict[str, str]:
        """How the rows are to be compared, as parameters of `coterie.GraphClustering`; empty where it may choose."""
        return {}

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` gives."""
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the parameters and all that was learned, as JSON values and arrays."""
        check_is_fitted(self)
        learned = {name: getattr(self, name) for name in self._values}
        return {"params": self.get_params(), **learned}, {name: getattr(self, name) for name in self._arrays}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Take back what `state` gave."""
        made = cls(**values["params"])
        for name in cls._values:
            setattr(made, name, values[name])
        for name in cls._arrays:
            setattr(made, name, arrays[name])
        return made
