"""Small random batches for the tests of MVSIB."""

import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import strategies as st

from coterie.methods.mvsib.attraction import Pairs
from coterie.methods.mvsib.contrast import Asked, Members, contrasts

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
    """A random symmetric relation of n rows, without the rows themselves, (n, n) bool."""
    near = torch.rand(n, n, generator=generator) < share
    return (near | near.T) & ~torch.eye(n, dtype=torch.bool)


def places(relation):
    """The pairs of a relation (n, n) as `row_pairs` takes them, (2, m)."""
    return relation.nonzero().T


def pairs_of(positive, negative):
    """Pairs from weights of attraction and repulsion, both (n, n)."""
    at = places(positive > 0)
    return Pairs(at, positive[at[0], at[1]], negative)


def positive_of(pairs):
    """The weights of attraction as a table, (n, n)."""
    return torch.zeros_like(pairs.negative).index_put(tuple(pairs.places), pairs.weights.to(pairs.negative))


def row_contrast(view, consensus, pairs, tau):
    return contrasts([Asked(view, consensus, pairs)], tau)[0].rows


def cross_contrast(rows, labels, certainty, tau):
    eye, kin = torch.eye(len(rows), dtype=rows.dtype), Members(labels, certainty).kin()
    return contrasts([Asked(rows, rows.detach(), pairs_of(eye, 1 - eye), kin)], tau)[0].across
