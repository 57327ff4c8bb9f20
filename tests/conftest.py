"""Settings of the whole test run."""

import os

# Many small networks train here: one thread is faster than several that wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from coterie.methods.mvsib.options import MVSIBSettings
from coterie.methods.run_setup import RunSettings

torch.set_num_threads(1)

# No test is timed: on a busy machine the first example alone may take a second. Examples are the same in every run:
# a failure that comes and goes says nothing about the change at hand.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def _no_lines_of_progress(monkeypatch):
    """What a command prints does not depend on how busy the machine is."""
    monkeypatch.setattr("coterie.cli.patience.FIRST", 1e6)


@pytest.fixture
def checkpoint_every_epoch(monkeypatch):
    """A run that is stopped goes on from the epoch before."""
    monkeypatch.setattr("coterie.engine.callbacks.CHECKPOINT_EVERY", 1)


@pytest.fixture
def short_training(monkeypatch):
    """Pages show defaults; in their tests a short training will do."""
    for settings_of_runs in (RunSettings, MVSIBSettings):
        monkeypatch.setattr(settings_of_runs, "least_steps", 40)
        monkeypatch.setattr(settings_of_runs, "enough_epochs", 4)
