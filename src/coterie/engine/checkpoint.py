"""Checkpoints of a loop: the task's tensors, the optimizer's, the history and the epoch, in the safe format.

No generator state is stored: tasks and batches draw from generators made anew from the seed and the number of
the epoch, so a resumed run sees the same random numbers as one that was never stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.store import below, read_archive, write_archive

_TASK, _OPTIMIZER = "task.", "optimizer."
_REMEDY = "delete it, and the run starts from the beginning"


def write_checkpoint(path: Path, loop: Loop, identity: Mapping[str, Any]) -> None:
    """Write where the loop stands, atomically."""
    tensors = {_TASK + name: tensor for name, tensor in loop.task.state().items()}
    for index, slots in loop.task.optimizer.state_dict()["state"].items():
        tensors |= {f"{_OPTIMIZER}{index}.{slot}": value for slot, value in slots.items()}
    manifest = {
        "kind": "checkpoint",
        "identity": identity,
        "epoch": loop.epoch,
        "history": loop.history,
        "stop": loop.stop,
    }
    write_archive(path, manifest, {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()})


def stored_identity(path: str | Path) -> dict[str, Any]:
    """Return what a checkpoint belongs to; nothing where there is no file yet."""
    return _read(Path(path))[0]["identity"] if Path(path).exists() else {}


def read_checkpoint(path: Path, loop: Loop, identity: Mapping[str, Any]) -> None:
    """Bring a fresh loop to where the checkpoint was written."""
    manifest, arrays = _read(path)
    differing = sorted(name for name in identity if manifest["identity"].get(name) != identity[name])
    if differing:
        raise InputError(
            f"The checkpoint {path} belongs to a run with another {', '.join(differing)}; "
            "delete it or give another path."
        )
    device = loop.task.optimizer.param_groups[0]["params"][0].device
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    try:
        loop.task.load_state(below(_TASK, tensors))
        _load_optimizer(loop.task.optimizer, below(_OPTIMIZER, tensors), device)
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"The checkpoint {path} does not fit this training ({reason}); {_REMEDY}."
        ) from error
    loop.epoch, loop.history, loop.stop = manifest["epoch"], manifest["history"], manifest["stop"]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    manifest, arrays = read_archive(path, _REMEDY)
    if manifest.get("kind") != "checkpoint":
        raise InputError(f"{path} is a coterie file but not a checkpoint; give another path.")
    kinds = {"identity": dict, "epoch": int, "history": list, "stop": bool}
    wrong = [name for name, kind in kinds.items() if not isinstance(manifest.get(name), kind)]
    if wrong or manifest["epoch"] < 0 or not all(isinstance(record, dict) for record in manifest["history"]):
        raise InputError(f"The checkpoint {path} does not say where it stands; {_REMEDY}.")
    return manifest, arrays


def _load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], device: torch.device
) -> None:
    whole = optimizer.state_dict()
    whole["state"] = {}
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for name, tensor in tensors.items():
        index, slot = name.split(".", 1)
        if tensor.shape not in ((), parameters[int(index)].shape):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}")
        whole["state"].setdefault(int(index), {})[slot] = tensor.to(device)
    if len({frozenset(one) for one in whole["state"].values()}) > 1:
        raise ValueError("parts of the optimizer's state are missing")
    optimizer.load_state_dict(whole)
