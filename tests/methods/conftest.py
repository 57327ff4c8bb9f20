"""Fixtures of the methods' tests."""

import pytest


class ReadyToTrainError(Exception):
    """Ends a fit before its training, with the task and the initial partition."""


@pytest.fixture
def task_of(monkeypatch):
    """Return a function from a model and data to the task and the initial partition with which training begins."""

    def stop(task, initial, callbacks):
        raise ReadyToTrainError(task, initial)

    def fit(model, data):
        with pytest.raises(ReadyToTrainError) as ready:
            model.fit(data)
        return ready.value.args

    for name in ("pcx", "sscnet", "mvsib"):
        monkeypatch.setattr(f"coterie.methods.{name}.estimator.train", stop)
    return fit
