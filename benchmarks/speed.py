"""Speed of PCX as ratios within one run: against a bare torch loop and the machine's peak."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.making import make
from benchmarks.records import machine, write_records
from coterie import PCX
from coterie.methods.pcx.network import CIUnit
from coterie.nn.autoencoder import mlp_pair

WIDTH = 784
BATCH = 256
HIDDEN = (500, 500, 2000)
_EPOCHS = 3


def seconds(work: Callable[[], Any]) -> float:
    """Return how long some work takes by the wall clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def matmul_peak(size: int = 2048, repeats: int = 8, timed: Callable[..., float] = seconds) -> float:
    """Return the machine's float32 matrix-multiply rate in GFLOP/s, the best of some products."""
    a = torch.randn(size, size)
    best = min(timed(lambda: a @ a) for _ in range(repeats))
    return 2 * size**3 / best / 1e9


def bare_epoch(rows: torch.Tensor, partners: bool) -> Callable[[], None]:
    """Return an epoch of forward, backward and step over PCX's layers, and nothing else.

    With `partners` each batch of rows is encoded together with as many partners, as the neighbour contrast does.
    """
    encoder, decoder = mlp_pair(WIDTH, HIDDEN, 10)
    unit = CIUnit(10)
    modules = torch.nn.ModuleList([encoder, decoder, unit])
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3, fused=True)

    def epoch() -> None:
        for batch in rows.split(BATCH):
            codes = encoder(torch.cat([batch, batch]) if partners else batch)[: len(batch)]
            loss = torch.nn.functional.mse_loss(decoder(unit(codes, codes)), batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    return epoch


def epoch_flops(n_rows: int, partners: bool) -> float:
    """Return the multiplications and additions of one epoch: three products per layer and row."""
    widths = [WIDTH, *HIDDEN, 10]
    one_way = sum(a * b for a, b in itertools.pairwise(widths))
    return 6 * n_rows * (one_way * (3 if partners else 2) + 200)


def pcx_epoch_seconds(rows: Any, n_epochs: int, **params: Any) -> float:
    """Return the fastest epoch of a PCX fit in its cluster phase, the dearer one."""
    model = make(
        PCX, 10, max_epochs=n_epochs, init="kmeans", self_training=0.0, hold=0.0, settle=False, n_axes=None,
        metric="euclidean", scale="none", hidden=HIDDEN, batch_size=BATCH, random_state=0, **params,
    )  # fmt: skip
    return min(record["seconds"] for record in model.fit(rows).history_)


def run_speed(n_rows: int = 14_000, rounds: int = 3) -> None:
    """Measure the epoch ratios, the share of the peak, and the growth with rows; print and keep them."""
    rows = torch.rand(n_rows, WIDTH, generator=torch.Generator().manual_seed(0))
    records = []
    for partners in (False, True):
        bare = bare_epoch(rows, partners)
        bare()
        neighbours = {"n_neighbors": 10, "neighbor_weight": 1.0} if partners else {"n_neighbors": 0}
        # Rounds alternate and the fastest epoch of each counts, out of as many: other work hits both alike.
        times = [
            (
                min(seconds(bare) for _ in range(_EPOCHS)),
                pcx_epoch_seconds(rows.numpy(), _EPOCHS, **neighbours),
            )
            for _ in range(rounds)
        ]
        bare_seconds, pcx_seconds = (min(column) for column in zip(*times, strict=True))
        peak = matmul_peak()
        gflops = epoch_flops(n_rows, partners) / 1e9
        records.append(
            {
                "what": "epoch with neighbours" if partners else "epoch",
                "rows": n_rows,
                "bare_seconds": round(bare_seconds, 3),
                "pcx_seconds": round(pcx_seconds, 3),
                "ratio": round(pcx_seconds / bare_seconds, 3),
                "peak_gflops": round(peak, 1),
                "bare_share_of_peak": round(gflops / bare_seconds / peak, 3),
                "pcx_share_of_peak": round(gflops / pcx_seconds / peak, 3),
            }
        )
        print(records[-1], flush=True)
    sizes = (n_rows // 4, n_rows // 2, n_rows)
    per_row = [pcx_epoch_seconds(rows[:size].numpy(), _EPOCHS) / size for size in sizes]
    records.append(
        {
            "what": "seconds per row and epoch, relative to the smallest",
            "rows": list(sizes),
            "relative": [round(value / per_row[0], 3) for value in per_row],
        }
    )
    print(records[-1], flush=True)
    write_records("speed", [{**record, "machine": machine()} for record in records])
