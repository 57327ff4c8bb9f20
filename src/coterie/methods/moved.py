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
_SETTLES = "the learning rate is constant until training has settled and then falls; see options.settle"

GONE: Mapping[str, Mapping[str, str]] = {
    "PCX": _TRAINING
    | {
        "decoder": "give both modules as one, encoder=(encoder, decoder)",
        "latent_norm": "no data set needed it; a custom encoder may end in a BatchNorm",
        "attraction": "partners pull as hard as strangers push",
        "balance_weight": "clusters are seldom equally large; options.imbalance weighs small ones",
        "rescue": "it never acted, because clusters start from a partition in which each has rows",
        "recluster_every": "k-means on a chunk of a stream lost the clusters that the chunk lacks",
        "schedule": _SETTLES,
        "early_stopping": "training ends once labels and the reconstruction error have settled; see options.settle",
    },
    "MVSIB": _TRAINING
    | {
        "n_axes": "encoders see up to 256 principal axes of a view",
        "neighbor_noise": "it was for one experiment, benchmarks/robustness.py",
    },
    "SSCNet": _TRAINING | {"n_axes": "up to 256 principal axes are coded", "schedule": _SETTLES},
    "LargeMvCNet": _RUN,
    "FUCSMF": {"n_threads": _RUN["n_threads"]},
    "GraphClustering": {"n_threads": _RUN["n_threads"]},
    "SSC": {"n_threads": _RUN["n_threads"]},
}


ARRAYS: Mapping[str, Mapping[str, str]] = {
    "PCX": {"network.space.": "network.projection.space."},
    "SSCNet": {"network.look.": "network.projection."},
    "MVSIB": {"network.looks.": "network.projections.", "network.guess.": "network.uncertainty."},
}
"""Beginnings of the names of arrays that earlier versions saved, and the present ones."""


def refuse_moved(method: Any, params: Mapping[str, Any]) -> None:
    """Raise the sentence of the first parameter that is now an option, or gone."""
    known = parameter_names(method)
    for name, value in params.items():
        if name in known:
            continue
        option = _renamed(method).get(name, name)
        if is_option(method, option):
            chosen = f"options={method._options.__name__}({option}={value!r})"
            raise InputError(f"{name} is now an option: {method.__name__}({chosen}).")
        refuse_gone(method, name)


def refuse_gone(method: Any, name: str) -> None:
    """Raise the sentence of a parameter that is gone, or of an option (``options.NAME``) that has another name."""
    reason = None if name in parameter_names(method) else _reason(method, name.removeprefix("options."))
    if reason is not None:
        raise InputError(f"{name} is gone: {reason}.")
    option = _renamed(method).get(name.removeprefix("options."))
    if option is not None:
        raise InputError(f"{name} is now called options.{option}.")


def is_option(method: Any, name: str) -> bool:
    """Tell whether a name is an option of a method, and not a parameter."""
    options = getattr(method, "_options", None)
    return options is not None and name in options.names() and name not in parameter_names(method)


def current_params(method: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that an earlier version saved under their present names, without those that are gone.

    A parameter that is now an option counts as given where it differs from the default: a file does not tell.
    """
    names = _renamed(method)
    moved = {names.get(name, name): value for name, value in params.items()}
    moved = {name: value for name, value in moved.items() if is_option(method, name)}
    kept = {
        name: value
        for name, value in params.items()
        if names.get(name, name) not in moved
        and (name in parameter_names(method) or _reason(method, name) is None)
    }
    if moved:
        usual = method._options().get_params()
        kept["options"] = {name: value for name, value in moved.items() if value != usual[name]}
    elif kept.get("options") is not None:
        kept["options"] = {
            names.get(name, name): value
            for name, value in kept["options"].items()
            if name not in method._options.gone
        }
    return kept


def current_arrays(method: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that an earlier version saved under their present names."""
    renamed = dict(arrays)
    for old, new in ARRAYS.get(method.__name__, {}).items():
        renamed = {
            new + name.removeprefix(old) if name.startswith(old) else name: array
            for name, array in renamed.items()
        }
    return renamed


def parameter_names(method: Any) -> Iterable[str]:
    """Return the names of the parameters of an estimator."""
    names: Iterable[str] = method._get_param_names()
    return names


def _reason(method: Any, name: str) -> str | None:
    options = getattr(method, "_options", None)
    tables = [GONE.get(base.__name__, {}) for base in method.__mro__]
    tables += [] if options is None else [options.gone]
    return next((table[name] for table in tables if name in table), None)


def _renamed(method: Any) -> Mapping[str, str]:
    return {} if getattr(method, "_options", None) is None else method._options.renamed
