"""Share of the machine's matrix-multiply peak that the methods' training steps and the bare loops reach."""

# n rows

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import contrast, speed
from benchmarks.records import save_record
from coterie import MVSIB, PCX, LargeMvCNet, SSCNet
from coterie.engine.loop import Loop

_EPOCHS = 3
_PRODUCT = 1024
_SHORT = {"max_epochs": _EPOCHS, "scale": "none", "random_state": 0}


def run_limit(n_rows: int = 5000, tag: str = "limit") -> None:
    """Measure the peak, every method's training steps and the bare loops; print and keep the shares."""
    several = contrast.planted(n_rows)
    first = several[0]
    model = MVSIB(10, batch_size=speed.BATCH)
    fits: dict[str, Callable[[], Any]] = {
        "PCX": lambda: PCX(10, hidden=speed.HIDDEN, **_SHORT).fit(first),
        "SSCNet": lambda: SSCNet(10, **_SHORT).fit(first),
        "MVSIB": lambda: MVSIB(10, **_SHORT).fit(several),
        "LargeMvCNet": lambda: LargeMvCNet(10, **_SHORT).fit(several),
    }
    for method, fit in fits.items():
        _keep(tag, method, "training step", n_rows, steps_rate(fit))
    rows = torch.rand(n_rows, speed.WIDTH, generator=torch.Generator().manual_seed(0))
    bare = {"PCX": speed.bare_epoch(rows, partners=True), "MVSIB": contrast.bare_epoch(n_rows, model)}
    for method, epoch in bare.items():
        _keep(tag, method, "bare loop", n_rows, whole_rate(epoch))


def _keep(tag: str, method: str, what: str, n_rows: int, rate: float) -> None:
    peak = speed.matmul_peak(_PRODUCT, timed=_timed)
    record = {"method": method, "what": what, "rows": n_rows, "gflops": round(rate, 1)}
    record |= {"peak_gflops": round(peak, 1), "share_of_peak": round(rate / peak, 3)}
    save_record(tag, record)


def steps_rate(fit: Callable[[], Any]) -> float:
    """Return the median rate of the gradient steps of a fit in GFLOP/s.

    One fit counts the matrix products of each step, another takes the time; the steps are the same.
    """
    with _watched(_counted) as work:
        fit()
    with _watched(_timed) as spent:
        fit()
    return float(np.median(np.array(work) / np.array(spent))) / 1e9


def whole_rate(epoch: Callable[[], Any]) -> float:
    """Return the best rate of some epochs of a bare loop in GFLOP/s."""
    work = _counted(epoch)
    return work / min(_timed(epoch) for _ in range(_EPOCHS)) / 1e9


@contextmanager
def _watched(measure: Callable[[Callable[[], Any]], float]) -> Iterator[list[float]]:
    """Yield a list that gets what `measure` says of each step of the training loop."""
    values: list[float] = []
    plain = Loop.step

    def step(loop: Loop, batch: Any) -> Any:
        result: list[Any] = []
        values.append(measure(lambda: result.append(plain(loop, batch))))
        return result[0]

    Loop.step = step  # type: ignore[method-assign]
    try:
        yield values
    finally:
        Loop.step = plain  # type: ignore[method-assign]


def _counted(work: Callable[[], Any]) -> float:
    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops())


def _timed(work: Callable[[], Any]) -> float:
    """Return processor seconds, which other work does not change, where one thread does everything; else seconds."""
    if torch.get_num_threads() > 1:
        return speed.seconds(work)
    started = time.process_time()
    work()
    return time.process_time() - started
