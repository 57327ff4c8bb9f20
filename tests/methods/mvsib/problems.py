"""Small random batches for the tests of MVSIB."""

import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import strategies as st

seeds = st.integers(0, 10_000)


def source(seed):
    return torch.Generator().manual_seed(seed)


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def unit_rows(generator, n, d):
    return F.normalize(normal(generator, n, d), dim=1)


def labels_of(generator, n, n_clusters):
    """Random labels of n rows."""
    return torch.randint(n_clusters, (n,), generator=generator)


def neighbours(generator, n, share=0.3):
    """A random symmetric relation of n rows, without the rows themselves."""
    near = torch.rand(n, n, generator=generator) < share
    return (near | near.T) & ~torch.eye(n, dtype=torch.bool)
