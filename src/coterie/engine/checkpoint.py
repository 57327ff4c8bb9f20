"""Checkpoints of a loop: the task's tensors, the optimizer's, the history and the epoch, in the safe format.

No generator state is stored: tasks and batches draw from generators made anew from the seed and the number of
the epoch, so a resumed run sees the same random numbers as one that was never stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.store import below, read_archive, write_archive

_TASK, _OPTIMIZER = "task.", "optimizer."


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
    return read_archive(path)[0].get("identity", {}) if Path(path).exists() else {}


def read_checkpoint(path: Path, loop: Loop, identity: Mapping[str, Any]) -> None:
    """Bring a fresh loop to where the checkpoint was written."""
    manifest, arrays = read_archive(path)
    if manifest.get("kind") != "checkpoint":
        raise InputError(f"{path} is a coterie file but not a checkpoint; give another path.")
    differing = sorted(name for name in identity if manifest["identity"].get(name) != identity[name])
    if differing:
        raise InputError(
            f"The checkpoint {path} belongs to a run with another {', '.join(differing)}; "
            "delete it or give another path."
        )
    device = loop.task.optimizer.param_groups[0]["params"][0].device
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    loop.task.load_state(below(_TASK, tensors))
    _load_optimizer(loop.task.optimizer, below(_OPTIMIZER, tensors), device)
    loop.epoch, loop.history, loop.stop = manifest["epoch"], manifest["history"], manifest["stop"]


def _load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], device: torch.device
) -> None:
    whole = optimizer.state_dict()
    whole["state"] = {}
    for name, tensor in tensors.items():
        index, slot = name.split(".", 1)
        whole["state"].setdefault(int(index), {})[slot] = tensor.to(device)
    optimizer.load_state_dict(whole)
