"""Settings of the whole test run."""

import os

# Many small networks train here: one thread is faster than several that wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from hypothesis import settings

torch.set_num_threads(1)

# No test is timed: on a busy machine the first example alone may take a second.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
