"""What PC-X minimises, and the closed-form step of its centroids.

Equation numbers are those of the paper; tags such as "spec 3.7" name the erratum that a correction answers.
Symbols: z code, mu centroids, k(n) the nearest centroid of row n, kappa the memory of a centroid.
"""

# b rows of a batch, D features, d code features, k clusters

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def reconstruction(x: Tensor, decoded: Tensor, loss: str = "mse") -> Tensor:
    """Return D(x || decoded), the first term of Eq. 9, averaged over rows and features.

    The paper leaves D open (spec 3.4). "mse" is the squared error; "bce" the cross-entropy of [0, 1] data,
    with `decoded` as logits.

    Examples
    --------
    >>> reconstruction(torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 1.0]]))
    tensor(2.5000)
    """
    if loss == "bce":
        return F.binary_cross_entropy_with_logits(decoded, x)
    return F.mse_loss(decoded, x)


def clustering(distances: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the second term of Eq. 9: mean_n (1 / omega_k(n)) ||z_n - mu_k(n)||^2.

    Parameters
    ----------
    distances : Tensor of shape (b, k)
        Squared distances of the codes to the centroids.
    labels : Tensor of shape (b,)
        k(n).
    weights : Tensor of shape (k,), optional
        1 / omega_k of PC-X-IMBA, inside the sum over clusters, where it belongs (spec 3.7); 1 without it.

    Examples
    --------
    >>> clustering(torch.tensor([[1.0, 9.0], [4.0, 3.0]]), torch.tensor([0, 1]))
    tensor(2.)
    """
    own = distances.gather(1, labels[:, None]).squeeze(1)
    return (own if weights is None else own * weights[labels]).mean()


def consistency(log_lambda: Tensor, labels: Tensor) -> Tensor:
    """Return the mean -log lambda of the cluster that each row's partner was given.

    Where the minimum entropy of Eq. 8 sharpens whatever a row's memberships are, this draws them to those of
    its neighbour. Not in the paper.

    Examples
    --------
    >>> consistency(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([0]))
    tensor(1.3863)
    """
    return F.nll_loss(log_lambda, labels)


def penalty_rho(weight: float, memory: float, n_clusters: int) -> float:
    """Return the rho of Eq. 4 with which a cluster of average size has this memory (spec 3.5).

    Examples
    --------
    >>> round(penalty_rho(1.0, 0.995, 10), 6)
    19.9
    """
    return weight * memory / ((1 - memory) * n_clusters)


def centroid_memory(counts: Tensor, n_rows: float, *, rho: float, weight: float) -> Tensor:
    """Return kappa_k = rho / (rho + eta1 n_k / b) of Eq. 6; 1 for a cluster without rows.

    Examples
    --------
    >>> centroid_memory(torch.tensor([0.0, 4.0]), 4, rho=1.0, weight=1.0)
    tensor([1.0000, 0.5000])
    """
    return rho / (rho + weight * counts / n_rows)


def centroid_step(centroids: Tensor, counts: Tensor, sums: Tensor, memory: float | Tensor) -> Tensor:
    """Return the centroids after Eq. 6 and 7: mu_k <- kappa_k mu_k + (1 - kappa_k) s_k / n_k.

    With the kappa of `centroid_memory` this is the minimiser of the batch objective given the assignments;
    with one fixed kappa it is that of the objective re-weighted by cluster size (spec 3.5). A centroid without
    rows stays as it is, to the bit.

    Parameters
    ----------
    centroids : Tensor of shape (k, d)
    counts, sums : Tensor of shape (k,) and (k, d)
        From `count_and_sum`, over all processes.
    memory : float or Tensor of shape (k,)

    Examples
    --------
    >>> centroid_step(torch.tensor([[0.0], [7.0]]), torch.tensor([2.0, 0.0]), torch.tensor([[4.0], [0.0]]), 0.5)
    tensor([[1.],
            [7.]])
    """
    means = sums / counts.clamp(min=1)[:, None]
    kappa = torch.as_tensor(memory, dtype=centroids.dtype, device=centroids.device).expand_as(counts)[:, None]
    return torch.where(counts[:, None] > 0, kappa * centroids + (1 - kappa) * means, centroids)


def average_of_sums(
    centroids: Tensor, sizes: Tensor, counts: Tensor, sums: Tensor, *, memory: float, epsilon: float
) -> tuple[Tensor, Tensor]:
    """Return the centroids and sizes when moving averages of sums and counts are kept apart.

    The authors' code does so, and smooths sizes in place: mu_k = m_k / alpha_k, m_k <- kappa m_k + (1 - kappa) s_k
    (spec 7). So m_k is mu_k alpha_k of the step before, and mu_k itself while sizes are zero.

    Examples
    --------
    >>> one = torch.ones(1)
    >>> average_of_sums(one[:, None], one, one, torch.tensor([[3.0]]), memory=0.5, epsilon=0.0)
    (tensor([[2.]]), tensor([1.]))
    """
    totals = torch.where(sizes > 0, sizes, 1)[:, None] * centroids
    smooth = smooth_sizes(size_step(sizes, counts, memory), epsilon)
    return (memory * totals + (1 - memory) * sums) / smooth[:, None], smooth


def size_step(sizes: Tensor, counts: Tensor, memory: float) -> Tensor:
    """Return alpha_k <- kappa alpha_k + (1 - kappa) n_k, Eq. 13 in batch counts (spec 3.6).

    Examples
    --------
    >>> size_step(torch.tensor([4.0]), torch.tensor([8.0]), 0.5)
    tensor([6.])
    """
    return memory * sizes + (1 - memory) * counts


def smooth_sizes(sizes: Tensor, epsilon: float) -> Tensor:
    """Return Laplace-smoothed sizes with the same sum, Eq. 14; never to be fed back into the EMA (spec 3.17).

    Examples
    --------
    >>> smooth_sizes(torch.tensor([0.0, 4.0]), epsilon=1.0)
    tensor([0.6667, 3.3333])
    """
    total = sizes.sum()
    return (sizes + epsilon) * total / (total + epsilon * len(sizes))


def size_weights(sizes: Tensor, epsilon: float) -> Tensor:
    """Return 1 / omega_k of Eq. 10, with smoothed sizes.

    Examples
    --------
    >>> size_weights(torch.tensor([5.0, 5.0]), epsilon=1e-5)
    tensor([1., 1.])
    """
    smooth = smooth_sizes(sizes, epsilon)
    return smooth.mean() / smooth
