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

from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.store import below, read_archive, write_archive

_TASK, _OPTIMIZER = "task.", "optimizer."
_REMEDY = "delete it, and the run starts from the beginning"


def write_checkpoint(path: Path, loop: Loop, identity: Mapping[str, Any]) -> None:
    """Write where the loop stands, atomically."""
    tensors = {_TASK + name: tensor for name, tensor in loop.task.state().items()}
    tensors |= {_OPTIMIZER + name: tensor for name, tensor in loop.task.optimizer.state().items()}
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
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    try:
        loop.task.load_state(below(_TASK, tensors))
        loop.task.optimizer.load_state(below(_OPTIMIZER, tensors))
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
