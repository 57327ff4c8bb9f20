"""MVSIB: an epoch against a bare loop, and cost as rows grow."""

# n rows, b rows of a batch, d columns of a view

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

from benchmarks.making import make
from benchmarks.records import measured, measured_apart, save_record
from benchmarks.speed import BATCH, seconds
from benchmarks.views import CLUSTERS, WIDTHS, write_views
from coterie import MVSIB, as_views
from coterie.engine.loop import Callback
from coterie.methods.mvsib.options import MVSIBOptions
from coterie.methods.mvsib.training import MVSIBTask
from coterie.metrics import accuracy
from coterie.nn.autoencoder import mlp

_WIDTHS = (784, 256)
_EPOCHS = 9
_WARMUP = 1 / 3


def planted(n_rows: int, widths: Sequence[int] = _WIDTHS) -> list[np.ndarray]:
    """Return views with ten planted groups, of the widths of hdigit."""
    rng = np.random.default_rng(0)
    kind = np.arange(n_rows) % CLUSTERS
    return [
        (rng.standard_normal((CLUSTERS, d))[kind] + rng.standard_normal((n_rows, d))).astype(np.float32)
        for d in widths
    ]


def bare_epoch(n_rows: int, model: MVSIB) -> Callable[[], None]:
    """Return an epoch of forward, backward and step over MVSIB's encoders and the products of unit rows, no more.

    Each batch of rows comes with as many partners. The products are those of every view with the consensus and with
    itself, and of the consensus with itself; their gradients are given, so that nothing is computed but products.
    """
    widths = [min(d, MVSIBOptions.n_axes or d) for d in _WIDTHS]
    tables = [torch.randn(n_rows, d, generator=torch.Generator().manual_seed(0)) for d in widths]
    settings = model._resolved()
    hidden, n_code = settings["hidden"], settings["n_code"]
    encoders = torch.nn.ModuleList([mlp([d, *hidden, n_code]) for d in widths])
    optimizer = torch.optim.Adam(encoders.parameters(), lr=1e-3, fused=True)
    gradient = torch.rand(2 * BATCH, 2 * BATCH)

    def epoch() -> None:
        for views in zip(*(table.split(BATCH) for table in tables), strict=True):
            pairs = [torch.cat([rows, rows]) for rows in views]
            units = [F.normalize(encoder(rows), dim=1) for encoder, rows in zip(encoders, pairs, strict=True)]
            consensus = F.normalize(torch.stack(units).mean(0), dim=1)
            products = [consensus @ consensus.T]
            products += [product for unit in units for product in (unit @ consensus.T, unit @ unit.T)]
            optimizer.zero_grad(set_to_none=True)
            size = len(consensus)
            torch.autograd.backward(products, [gradient[:size, :size]] * len(products))
            optimizer.step()

    return epoch


def run_contrast_speed(n_rows: int = 10_000, rounds: int = 3) -> None:
    """Compare the epochs of each phase of a fit with a bare loop; print and keep the ratios."""
    model = make(
        MVSIB, CLUSTERS, max_epochs=_EPOCHS, warmup=_WARMUP, batch_size=BATCH, scale="none", random_state=0
    )
    views, bare = planted(n_rows), bare_epoch(n_rows, model)
    bare()
    bare_seconds, phases = [], {}
    # Rounds alternate and the fastest epoch of each counts: other work hits both alike.
    for _ in range(rounds):
        bare_seconds += [seconds(bare) for _ in range(_EPOCHS)]
        for record in model.fit(views).history_:
            phases.setdefault(record["phase"], []).append(record["seconds"])
    for phase, spent in phases.items():
        record = {
            "method": "MVSIB",
            "what": f"epoch, {phase}",
            "rows": n_rows,
            "bare_seconds": round(min(bare_seconds), 3),
            "seconds": round(min(spent), 3),
            "ratio": round(min(spent) / min(bare_seconds), 3),
        }
        save_record("contrast-speed", record)


class _Timed(MVSIB):
    """MVSIB that notes when its epochs begin and end, in CPU seconds of the process."""

    def _watchers(self, fingerprint: list[Any]) -> list[Callback]:
        self.began_ = time.process_time()
        return super()._watchers(fingerprint)

    def _label(self, task: MVSIBTask) -> None:
        self.ended_ = time.process_time()
        super()._label(task)


def run_contrast_growth(sizes: Sequence[int], epochs: int) -> None:
    """Cost of a fit from disk as rows grow; what comes before the epochs (neighbours, start) is given apart.

    CPU seconds of one thread (OMP_NUM_THREADS=1) do not depend on what else the machine does.
    """
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in sizes:
            write_views(Path(folder), n_rows)
            costs = measured_apart("-m", "benchmarks.contrast", folder, epochs)
            save_record("growth", {"rows": n_rows, "method": "MVSIB", "epochs": epochs, **costs})


def _measure(folder: Path, epochs: int) -> None:
    """Fit in this process alone, so that its peak of memory is the fit's; print what `run_contrast_growth` reads."""
    views = as_views([np.load(folder / f"view{v}.npy", mmap_mode="r") for v in range(len(WIDTHS))])
    model, started = (
        make(_Timed, CLUSTERS, max_epochs=epochs, warmup=0.5, random_state=0),
        time.process_time(),
    )
    with measured() as costs:
        model.fit(views)
    trained = model.ended_ - model.began_
    results = {
        **costs,
        "cpu_seconds_before_the_epochs": round(model.began_ - started, 2),
        "cpu_microseconds_a_row_and_epoch": round(1e6 * trained / views.n_rows / epochs, 1),
        "accuracy": round(accuracy(np.arange(views.n_rows) % CLUSTERS, model.labels_), 4),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    _measure(Path(sys.argv[1]), int(sys.argv[2]))
