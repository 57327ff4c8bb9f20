"""One-to-one matching of clusters, so that ids stay stable when a partition is computed again."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from coterie.ops.distances import squared_distances


def match_centers(old: Tensor, new: Tensor) -> Tensor:
    """Return `new` re-ordered so that its k-th centre is the partner of the k-th old one (Hungarian matching).

    Examples
    --------
    >>> match_centers(torch.tensor([[0.0], [5.0]]), torch.tensor([[5.5], [0.5]]))
    tensor([[0.5000],
            [5.5000]])
    """
    _, partner = linear_sum_assignment(squared_distances(old, new).double().cpu().numpy())
    return new[torch.as_tensor(partner, device=new.device)]
