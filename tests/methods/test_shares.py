"""Processes that share the rows of a batch take the step that one process with all the rows would take."""

import importlib
import threading

import numpy as np
import pytest
import torch
from benchmarks.making import make
from tests.together import in_threads
from torch import nn

from coterie import MVSIB, PCX, LargeMvCNet, as_views
from coterie.collectives import ALONE
from coterie.methods.registry import find_method
from coterie.methods.run_setup import make_loop

MODULES = {"cluster_weight": 0.1, "hard_weight": 0.1, "cross_weight": 0.1, "minority_weight": 0.1}


def two_views(n=150, missing=False):
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    views = [
        (5 * rng.normal(size=(3, d))[kind] + rng.normal(size=(n, d))).astype(np.float32) for d in (12, 7)
    ]
    if missing:
        views[1][::4] = np.nan
    return as_views(views)


@pytest.fixture
def collectives_of_threads(monkeypatch):
    """Let every thread have collectives of its own, set in `local.collectives`."""
    local = threading.local()
    for name in ("run_setup", "mvsib.compare", "largemvc.estimator"):
        module = importlib.import_module(f"coterie.methods.{name}")
        monkeypatch.setattr(module, "current_collectives", lambda: local.collectives)
    return local


def first_step(task_of, model, data, epoch):
    """Return the losses and the gradients of the first step of an epoch."""
    task, initial = task_of(model, data)
    loop = make_loop(task)
    if not task.epochs.in_warmup(epoch):
        if isinstance(model, MVSIB):
            task.labels = initial
        else:
            importlib.import_module(type(task).__module__).start_clusters(task, initial)
    task.begin_epoch(epoch)
    losses = loop.step(next(iter(loop.batches(epoch))))
    gradients = [p.grad.clone() for p in loop._parameters if p.grad is not None]
    return {name: float(value.detach()) for name, value in losses.items()}, gradients


CASES = {
    "pcx": ("pcx", {"hidden": (16,)}, 0, False),
    "pcx paired": (
        "pcx",
        {"hidden": (16,), "imbalance": True, "neighbor_weight": 1.0, "hold": 0.0},
        2,
        False,
    ),
    "sscnet": ("sscnet", {"n_atoms": 16}, 0, False),
    "sscnet paired": (
        "sscnet",
        {"n_atoms": 16, "spectral_weight": 0.15, "neighbor_weight": 1.0, "init": "landmarks"},
        0,
        False,
    ),
    "mvsib warm-up": ("mvsib", {"warmup": 1.0, "hidden": (16,)}, 0, True),
    "mvsib rebuilt": ("mvsib", {"warmup": 1.0, "hidden": (16,), "reconstruction_weight": 1.0}, 0, True),
    "mvsib modules": ("mvsib", {"warmup": 0.0, "hidden": (16,), **MODULES}, 3, False),
    "mvsib modules, views missing": ("mvsib", {"warmup": 0.0, "hidden": (16,), **MODULES}, 3, True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_step_of_three_processes_is_the_step_of_one(case, collectives_of_threads, task_of):
    method, params, epoch, missing = CASES[case]
    data = two_views(missing=missing)

    def work(collectives):
        collectives_of_threads.collectives = collectives
        model = make(find_method(method).load(), 3, max_epochs=4, batch_size=50, random_state=0, **params)
        return first_step(task_of, model, data, epoch)

    losses, gradients = work(ALONE)
    largest = max(float(one.abs().max()) for one in gradients)
    for found, parts in in_threads(3, work):
        assert found == pytest.approx(losses, rel=1e-4, abs=1e-6)
        for one, other in zip(gradients, parts, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=2e-5 * largest)


def test_what_batchnorm_remembers_is_the_same_in_every_process(collectives_of_threads):
    data = two_views()

    def work(collectives):
        collectives_of_threads.collectives = collectives
        pair = nn.Sequential(nn.Linear(19, 4), nn.BatchNorm1d(4)), nn.Linear(4, 19)
        model = PCX(3, n_code=4, encoder=pair, max_epochs=2, batch_size=50, random_state=0).fit(data)
        return model.network_.encoder[1].running_mean, model.labels_

    (mean, labels), (other_mean, other_labels) = in_threads(2, work)
    assert torch.equal(mean, other_mean)
    np.testing.assert_array_equal(labels, other_labels)


def test_some_rows_of_the_views_describe_mvsibs_clusters_in_any_number_of_processes(
    collectives_of_threads, task_of, monkeypatch
):
    data = two_views(missing=True)

    def work(collectives):
        collectives_of_threads.collectives = collectives
        return task_of(MVSIB(3, hidden=(16,), random_state=0), data)[0].embed_all()

    whole = work(ALONE)
    assert whole.rows.tolist() == list(range(150))
    monkeypatch.setattr("coterie.methods.mvsib.training._DESCRIBED", 60)
    for found in [work(ALONE), *in_threads(3, work)]:
        assert len(found.rows) == 60
        torch.testing.assert_close(found.consensus, whole.consensus)
        assert torch.equal(found.present, whole.present[found.rows])
        for some, view in zip(found.views, whole.views, strict=True):
            torch.testing.assert_close(some, view[found.rows])


@pytest.mark.parametrize(
    ("params", "missing"),
    [({}, True), ({"max_epochs": 1, "loss": "objective"}, True), ({"max_epochs": 1, "loss": "recon"}, False)],
)
def test_largemvc_in_two_processes_is_that_of_one(params, missing, collectives_of_threads, monkeypatch):
    monkeypatch.setattr("coterie.methods.largemvc.inputs._CHUNK_BYTES", 1)  # several pieces, of 256 rows
    data = two_views(600, missing=missing)

    def work(collectives):
        collectives_of_threads.collectives = collectives
        return make(LargeMvCNet, 3, n_landmarks=30, random_state=0, batch_size=100, **params).fit(data)

    alone = work(ALONE)
    for model in in_threads(2, work):
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        np.testing.assert_array_equal(model.exemplar_indices_, alone.exemplar_indices_)
        np.testing.assert_allclose(model.row_weights_, alone.row_weights_, rtol=1e-4)
        assert model.inertia_ == pytest.approx(alone.inertia_)
        assert model.history_[-1]["objective"] == pytest.approx(alone.history_[-1]["objective"])
