"""Estimators from flat settings: records name an option as they name a parameter."""

from __future__ import annotations

from typing import Any

from coterie.methods.moved import is_option


def make(estimator: Any, *args: Any, **params: Any) -> Any:
    """Return an estimator; what is an option of it goes into its options.

    Examples
    --------
    >>> from coterie import PCX
    >>> make(PCX, 3, n_code=4, tau=2.0)
    PCX(n_clusters=3, n_code=4, options=PCXOptions(tau=2.0))
    """
    options = {name: params.pop(name) for name in [*params] if is_option(estimator, name)}
    return estimator(*args, **params, **({"options": estimator._options(**options)} if options else {}))
