"""Tiny models and checkpoints to spoil, and how they are read."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.fuzzing.seeds import A, B, Files, Y
from coterie import FUCSMF, MVSIB, PCX, LargeMvCNet, SSCNet, load
from coterie.engine.adam import Adam
from coterie.engine.callbacks import Checkpoint
from coterie.engine.checkpoint import write_checkpoint
from coterie.engine.loop import Loop
from coterie.methods.refine import refine
from coterie.methods.sscnet import SSC

_TRAINED = {"max_epochs": 1, "random_state": 0}
_IDENTITY = {"method": "line", "seed": 0}


def model_seeds() -> list[Files]:
    """Return a model of every method, and a corrected one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # twelve rows are few
        models = [
            PCX(3, hidden=(4,), n_code=2, **_TRAINED).fit(A),
            LargeMvCNet(3, random_state=0).fit([A, B]),
            MVSIB(3, hidden=(4,), n_code=2, **_TRAINED).fit([A, B]),
            SSCNet(3, n_atoms=4, **_TRAINED).fit(A),
            SSC(3, random_state=0).fit(A),
            FUCSMF(n_anchors=4, random_state=0).fit(A, Y),
        ]
        models.append(refine(models[0], A, {0: 0, 1: 1}).model())
    return [_saved(model) for model in models]


def _saved(model: Any) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.coterie"
        model.save(path)
        return {path.name: path.read_bytes()}


def read_model(folder: Path) -> None:
    """Load a model."""
    load(folder / "x.coterie")


class _Line:
    """The smallest task with an optimizer that has a state."""

    def __init__(self) -> None:
        self.layer = nn.Linear(3, 1)
        self.optimizer = Adam(self.layer.parameters(), 1e-3)

    def begin_epoch(self, epoch: int) -> None: ...

    def losses(self, batch: Tensor) -> tuple[dict[str, Tensor], None]:
        return {"loss": self.layer(batch).square().mean()}, None

    def after_step(self, carried: None) -> None: ...

    def end_epoch(self, epoch: int) -> dict[str, Any]:
        return {"width": 3}

    def state(self) -> dict[str, Tensor]:
        return dict(self.layer.state_dict())

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.layer.load_state_dict(state)


def _loop(path: Path) -> Loop:
    watch = Checkpoint(path, _IDENTITY)
    rows = torch.from_numpy(A).float()
    return Loop(_Line(), lambda epoch: [rows], per_epoch=1, max_epochs=2, callbacks=[watch])


def checkpoint_seeds() -> list[Files]:
    """Return the checkpoint of a tiny training."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.coterie"
        loop = _loop(path)
        loop.run_epoch()
        write_checkpoint(path, loop, _IDENTITY)
        return [{path.name: path.read_bytes()}]


def read_checkpoint(folder: Path) -> None:
    """Go on from a checkpoint to the end."""
    _loop(folder / "x.coterie").run()
