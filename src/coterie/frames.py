"""Labels for tables in pieces: one function of a DataFrame, for Dask, Ray, Spark or a loop."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import InputError
from coterie.methods.base import load
from coterie.runs import Run


class FrameLabeller:
    """Adds the cluster and its confidence to a pandas DataFrame; made by `label_frames`.

    It holds the path of the model and nothing else, so it is sent to other processes in a few bytes; each loads the
    model once.
    """

    def __init__(self, model: str | os.PathLike[str], keep: Iterable[str] | None = None) -> None:
        self.path = str(Path(model).resolve())
        self.keep = None if keep is None else list(keep)

    def __call__(self, frame: Any) -> Any:
        """Return the columns to keep with `cluster`, `confidence` and, where clusters have names, `name`."""
        model = _load(self.path, os.stat(self.path).st_mtime_ns)
        kept = frame if self.keep is None else frame[self.keep]
        names = getattr(model, "names_", {})
        if not len(frame):  # partitions may be empty, and Dask asks what the columns will be
            labels, confidence = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        else:
            labels, confidence = model.assign(frame)
        added: dict[str, Any] = {
            "cluster": np.asarray(labels, dtype=np.int64),
            "confidence": np.asarray(confidence, dtype=np.float32),
        }
        if names:
            added["name"] = np.array([names.get(int(label), "") for label in labels], dtype=object)
        return kept.assign(**added)

    def iterate(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield each frame with its labels, as Spark's `mapInPandas` calls a function."""
        return map(self, frames)


def label_frames(model: str | os.PathLike[str], *, keep: Iterable[str] | None = None) -> FrameLabeller:
    """Return a function that labels the rows of a pandas DataFrame with a saved model.

    Parameters
    ----------
    model : str or Path
        The folder of a run, or the file of a model. Named columns are taken by name, in any order and among others;
        words and gaps as in the fit. Every process that labels must be able to read it.
    keep : iterable of str, optional
        The columns of the frame that stay next to the labels, such as an identifier; all by default.

    Returns
    -------
    FrameLabeller
        Call it with a frame; `iterate` takes an iterator of frames.

    Examples
    --------
    >>> import pandas as pd
    >>> from coterie import GraphClustering
    >>> folder = getfixture("tmp_path")
    >>> rows = pd.DataFrame({"id": range(60), "size": np.repeat([1.0, 9.0], 30), "age": np.arange(60) % 7})
    >>> _ = GraphClustering(2, random_state=0).fit(rows[["size", "age"]]).save(folder / "model.coterie")
    >>> label = label_frames(folder / "model.coterie", keep=["id"])
    >>> label(rows[28:32])["cluster"].nunique(), list(label(rows).columns)
    (2, ['id', 'cluster', 'confidence'])
    """
    labeller = FrameLabeller(model, keep)
    if not Path(labeller.path).exists():
        raise InputError(f"There is no run or model at {model}.")
    return labeller


@lru_cache(maxsize=4)
def _load(path: str, changed: int) -> Any:
    if not Path(path).is_dir():
        return load(path)
    the_run = Run(Path(path))
    the_run.check()
    return load(the_run.model)
