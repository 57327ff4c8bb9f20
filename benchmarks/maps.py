"""The map of the data: CPU seconds to lay rows out, and how many of their neighbours stay neighbours."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.records import add_record, machine
from coterie.data import as_views
from coterie.data.subsets import some_rows
from coterie.explore.maps import data_map
from coterie.graph.neighbours import neighbours_of_each

FILE = "maps"
_ASKED = 2000
_NEAR = 10


def run_maps(n_rows: int, folder: Path) -> None:
    """Lay out rows of MNIST, and keep the figures."""
    with np.load(folder / "mnist.npz") as archive:
        images = archive["view0"].reshape(len(archive["y"]), -1).astype(np.float32)
    images = images[some_rows(len(images), n_rows, 0)]
    started = time.process_time()
    places = data_map(as_views(images), "auto").coordinates
    seconds = time.process_time() - started
    asked = some_rows(len(images), _ASKED, 1)
    near = [neighbours_of_each(rows.astype(np.float32), _NEAR)[1].indices[asked] for rows in (images, places)]
    kept = np.mean([len(set(a) & set(b)) / _NEAR for a, b in zip(*near, strict=True)])
    record = {"rows": len(images), "seconds": round(seconds, 1), "kept": round(float(kept), 3)}
    add_record(FILE, {**record, "seed": 0, "machine": machine()})
    print(record)
