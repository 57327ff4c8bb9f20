"""A method under noise among neighbours and in a view, and with classes cut to a few rows."""

# n rows, v views

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import settings_of
from benchmarks.making import make
from benchmarks.records import is_recorded, measured, print_means, read_records, save_record
from benchmarks.sets import SETS, cut_classes
from coterie import MVSIB, as_views
from coterie.data import Views
from coterie.errors import InputError
from coterie.methods.mvsib.training import MVSIBTask
from coterie.methods.registry import find_method
from coterie.metrics import accuracy, matching

NEIGHBOUR_NOISE = (0.0, 0.1, 0.2, 0.3, 0.5)
SHARES = (0.3, 1.0)
SIGNAL_TO_NOISE = (1.0, 0.3, 0.1)


def run_robustness(
    method: str, names: Sequence[str], seeds: Sequence[int], folder: Path, params: dict[str, Any]
) -> None:
    """ACC with random neighbours, and with noise on a share of the first view's rows or on all of them."""
    estimator = find_method(method).load()
    if not issubclass(estimator, MVSIB):
        raise InputError(f"{estimator.__name__} has no tables of neighbours to disturb; use --method mvsib.")
    for seed, name in itertools.product(seeds, names):
        views, truth = SETS[name].load(folder)
        for noise, given, share in _noises(views, seed):
            case = _case(estimator, params, {"data": name, "seed": seed, "params": params, **noise})
            if is_recorded("robustness", case):
                continue
            model = make(estimator, len(np.unique(truth)), random_state=seed, **params)
            with measured() as costs, disturbed(share):
                model.fit(given)
            score = round(accuracy(truth, model.labels_), 4)
            save_record("robustness", {**case, "accuracy": score, **costs})
    _print("robustness", estimator, params, ("noise", "share", "level"), ("accuracy",))


def _noises(views: Views, seed: int) -> Iterator[tuple[dict[str, Any], Views, float]]:
    """Yield what describes each case, the views to fit, and the share of neighbours to replace."""
    for share in NEIGHBOUR_NOISE:
        yield {"noise": "neighbours", "share": share, "level": None}, views, share
    for share, level in itertools.product(SHARES, SIGNAL_TO_NOISE):
        noisy = degraded(views, share, level, seed)
        yield {"noise": "first view", "share": share, "level": level}, noisy, 0.0


@contextmanager
def disturbed(share: float) -> Iterator[None]:
    """Replace a share of every row's neighbours at random in each epoch with clusters of a fit in the block."""
    if share == 0:
        yield
        return
    begin = MVSIBTask.begin_epoch
    tables: list[np.ndarray] = []

    def begin_epoch(task: MVSIBTask, epoch: int) -> None:
        pairs = task.pairs
        assert pairs is not None
        if not tables:
            tables.extend(pairs._tables)
        if not task.epochs.in_warmup(epoch):
            rng = np.random.default_rng([task.seed, epoch])
            pairs._tables = [_replaced(table, share, rng) for table in tables]
        begin(task, epoch)

    MVSIBTask.begin_epoch = begin_epoch  # type: ignore[method-assign]
    try:
        yield
    finally:
        MVSIBTask.begin_epoch = begin  # type: ignore[method-assign]


def _replaced(table: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a table of neighbours with a share replaced at random; where a row stands itself it stays."""
    noise = rng.integers(len(table), size=table.shape, dtype=table.dtype)
    replaced = (rng.random(table.shape) < share) & (table != np.arange(len(table))[:, None])
    return np.where(replaced, noise, table)


def degraded(views: Views, share: float, level: float, seed: int) -> Views:
    """Add Gaussian noise to a share of the rows of the first view; `level` is the ratio of signal to noise."""
    rng = np.random.default_rng([seed, 11])
    blocks = views.read(slice(None))
    bad = rng.choice(views.n_rows, round(share * views.n_rows), replace=False)
    blocks[0][bad] += blocks[0].std() / level * rng.standard_normal((len(bad), blocks[0].shape[1]))
    return as_views(blocks, mask=views.present_rows(slice(None)))


def run_imbalance(
    method: str, names: Sequence[str], seeds: Sequence[int], folder: Path, params: dict[str, Any]
) -> None:
    """Recall of three classes that were cut to 5 % of their rows, and ACC of the others."""
    estimator = find_method(method).load()
    for seed, name in itertools.product(seeds, names):
        case = _case(estimator, params, {"data": name, "seed": seed, "params": params})
        if is_recorded("imbalance", case):
            continue
        views, truth, small = cut_classes(*SETS[name].load(folder), seed=seed)
        with measured() as costs:
            model = make(estimator, len(np.unique(truth)), random_state=seed, **params).fit(views)
        save_record("imbalance", {**case, **recalls(truth, model.labels_, small), **costs})
    _print("imbalance", estimator, params, (), ("minority_recall", "rest_accuracy"))


def recalls(truth: np.ndarray, labels: np.ndarray, small: np.ndarray) -> dict[str, float]:
    """Return the mean recall of the small classes, and the share of the other rows in the cluster of their class.

    Clusters are matched with classes one to one over all rows.
    """
    named = matching(truth, labels)
    hit = np.array([named.get(label) for label in labels.tolist()], dtype=object) == truth
    rare = np.isin(truth, small)
    minority = np.mean([hit[truth == kind].mean() for kind in small])
    return {"minority_recall": round(float(minority), 4), "rest_accuracy": round(float(hit[~rare].mean()), 4)}


def _case(estimator: Any, params: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """Return what a record must have to be of this case: other defaults are another case."""
    return {"method": estimator.__name__, "settings": settings_of(estimator, params), **case}


def _print(
    tag: str, estimator: Any, params: dict[str, Any], keys: Sequence[str], scores: Sequence[str]
) -> None:
    """Print the means over seeds of the records of a method with these parameters."""
    of = (estimator.__name__, params)
    records = [record for record in read_records(tag) if (record["method"], record["params"]) == of]
    title = f"{tag}, {estimator.__name__} {params or ''}"
    print_means(title, records, ("data", *keys), {score: itemgetter(score) for score in scores})
