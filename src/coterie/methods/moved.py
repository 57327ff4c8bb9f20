"""Parameters of earlier versions: one sentence each that says where they went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coterie.errors import InputError

_RUN = {
    "checkpoint_every": "a checkpoint is written every ten epochs",
    "n_threads": "set OMP_NUM_THREADS, or call torch.set_num_threads",
}
_TRAINING = _RUN | {
    "schedule": "the learning rate follows one cycle, and is constant where options.warmup is 0",
    "clip_norm": "no method needed it",
}

GONE: Mapping[str, Mapping[str, str]] = {
    "PCX": _TRAINING
    | {
        "decoder": "give both modules as one, encoder=(encoder, decoder)",
        "latent_norm": "no data set needed it; a custom encoder may end in a BatchNorm",
        "attraction": "partners pull as hard as strangers push",
        "balance_weight": "clusters are seldom equally large; options.imbalance weighs small ones",
        "rescue": "it never acted, because clusters start from a partition in which each has rows",
        "recluster_every": "k-means on a chunk of a stream lost the clusters that the chunk lacks",
        "early_stopping": "the learning rate ends with max_epochs; give fewer of them",
    },
    "MVSIB": _TRAINING
    | {
        "n_axes": "encoders see up to 256 principal axes of a view",
        "neighbor_noise": "it was for one experiment, benchmarks/robustness.py",
    },
    "SSCNet": _TRAINING | {"n_axes": "up to 256 principal axes are coded"},
    "LargeMvCNet": _RUN,
    "FUCSMF": {"n_threads": _RUN["n_threads"]},
    "GraphClustering": {"n_threads": _RUN["n_threads"]},
}


def refuse_moved(method: Any, params: Mapping[str, Any]) -> None:
    """Raise the sentence of the first parameter that is now an option, or gone.

    Parameters
    ----------
    method : type
        An estimator.
    params : mapping
    """
    known = parameter_names(method)
    for name, value in params.items():
        if name in known:
            continue
        if is_option(method, name):
            chosen = f"options={method._options.__name__}({name}={value!r})"
            raise InputError(f"{name} is now an option: {method.__name__}({chosen}).")
        refuse_gone(method, name)


def refuse_gone(method: Any, name: str) -> None:
    """Raise the sentence of a parameter that is gone."""
    reason = None if name in parameter_names(method) else _reason(method, name)
    if reason is not None:
        raise InputError(f"{name} is gone: {reason}.")


def is_option(method: Any, name: str) -> bool:
    """Tell whether a name is an option of a method, and not a parameter.

    Examples
    --------
    >>> from coterie import PCX
    >>> is_option(PCX, "tau"), is_option(PCX, "hidden")
    (True, False)
    """
    options = getattr(method, "_options", None)
    return options is not None and name in options.names() and name not in parameter_names(method)


def carried_over(method: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model that an earlier version saved as those of this one; what is gone is left out.

    An option that has the value of its default was, as far as a file can tell, not given.
    """
    moved = {name: value for name, value in params.items() if is_option(method, name)}
    kept = {
        name: value
        for name, value in params.items()
        if name not in moved and (name in parameter_names(method) or _reason(method, name) is None)
    }
    if moved:
        usual = method._options().get_params()
        kept["options"] = {name: value for name, value in moved.items() if value != usual[name]}
    return kept


def parameter_names(method: Any) -> Iterable[str]:
    """Return the names of the parameters of an estimator."""
    names: Iterable[str] = method._get_param_names()
    return names


def _reason(method: Any, name: str) -> str | None:
    tables = (GONE.get(base.__name__, {}) for base in method.__mro__)
    return next((table[name] for table in tables if name in table), None)
