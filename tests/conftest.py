"""Settings of the whole test run."""

import os

# Many small networks train here: one thread is faster than several that wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
