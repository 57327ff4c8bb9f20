"""Deep base class: clusterers whose network gives each row a code and a distance to each cluster."""

# n rows, b rows of a batch, d code features, k clusters

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor, nn

from coterie.data import Scaler, Views
from coterie.engine.device import resolve_device
from coterie.engine.loop import Record
from coterie.methods.base import Assignment, Clusterer
from coterie.methods.params import Rule, either, flag, one_of, real, whole
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.memberships import log_memberships
from coterie.store import below

TRAINING_RULES: Mapping[str, Rule] = {
    "max_epochs": either(one_of("auto"), whole(0)),
    "batch_size": whole(2),
    "learning_rate": real(0, above=True),
    "verbose": either(whole(0), flag()),
}
"""Rules of the parameters that say how to train."""


class DeepClusterer(Clusterer):
    """Base of the estimators that assign a row to the cluster at the smallest distance from its code.

    The distance is squared Euclidean, or minus a logit. A subclass implements `_fit` and `_codes_and_distances`,
    and sets `tau_`, the sharpness of the memberships.
    """

    device: str
    tau_: float
    history_: list[Record]
    scaler_: Scaler

    @abstractmethod
    def _codes_and_distances(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the codes (b, d) of the rows in their order, and their distances to the clusters (b, k)."""

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of rows, (n, d), float32."""
        return ArrayBuilder.of(codes for codes, _ in self._codes_and_distances(X)).joined()

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest cluster of each row, (n,)."""
        return ArrayBuilder.of(distances.argmin(1) for _, distances in self._codes_and_distances(X)).joined()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows, (n, k): a softmax of minus `tau_` times the distances."""
        return ArrayBuilder.of(
            log_memberships(distances, self.tau_).exp() for _, distances in self._codes_and_distances(X)
        ).joined()

    def assign(self, X: Any) -> Assignment:
        """Return the cluster of each row and its confidence, in one pass over the rows."""
        labels, confidence = ArrayBuilder(), ArrayBuilder()
        for _, distances in self._codes_and_distances(X):
            labels.add(distances.argmin(1))
            confidence.add(log_memberships(distances, self.tau_).exp().amax(1))
        return Assignment(labels.joined(), confidence.joined())


class StreamClusterer(DeepClusterer):
    """A deep clusterer that also trains on rows that keep arriving; a subclass implements `_fit_more`."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train on more rows, as from a stream; the clusters keep their numbers.

        The first call is a `fit`. Each later one is a pass over the new rows at a tenth of the learning rate.
        Afterwards `labels_` and the other attributes of rows refer to the rows given last.

        Parameters
        ----------
        X : array-like, views, or path
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "history_"):
            return self.fit(X)
        self._check_params()
        self._fit_more(self._check_input(X, reset=False))
        return self

    @abstractmethod
    def _fit_more(self, data: Views) -> None:
        """Train on checked new rows, with the clusters that there are."""

    @abstractmethod
    def _describe(self) -> None:
        """Set the attributes that follow from others."""

    # Saving

    _saved: ClassVar[tuple[str, ...]] = ("labels_", "exemplar_indices_")
    """Fitted arrays that are saved under their names."""

    @abstractmethod
    def _named_modules(self) -> Mapping[str, nn.Module]:
        """Return the fitted modules by name."""

    @abstractmethod
    def _build_modules(self, values: Mapping[str, Any]) -> None:
        """Make the modules of a saved model, unfilled."""

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {
            "seed": self.seed_,
            "tau": self.tau_,
            "history": self.history_,
            "scale": list(self.scaler_.modes_),
        }
        arrays = {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        for name, module in self._named_modules().items():
            arrays |= module_arrays(f"{name}.", module)
        return values, arrays | {name.rstrip("_"): getattr(self, name) for name in self._saved}

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.seed_, self.tau_, self.history_ = values["seed"], values["tau"], values["history"]
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        with unfilled():
            self._build_modules(values)
        for name, module in self._named_modules().items():
            load_arrays(f"{name}.", module, arrays)
            module.to(resolve_device(self.device))
        for name in self._saved:
            setattr(self, name, arrays[name.rstrip("_")])
        self._describe()

    def _continue_history(self, records: list[Record]) -> None:
        """Append the record of a pass over more rows."""
        done = len(self.history_)
        self.history_ = [*self.history_, *({**record, "epoch": done} for record in records)]
