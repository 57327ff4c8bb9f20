"""Generalised dictionaries and their adjoints: linear, multi-layer perceptron, convolutional."""

# b rows of a batch, d features, m atoms

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.nn.autoencoder import conv_maps, initialise, mlp_pair

KINDS = ("linear", "mlp", "conv")
_STEP_SHARE = 0.9
_JITTER = 0.1
_SPREAD_SHARE = 0.1
_FIRST_ROWS = 256
_LEAST_NORM = 1e-12


class Dictionary(nn.Module, ABC):
    """A map from codes to rows (the paper's A) and one back (its generalised adjoint, which contains the step)."""

    n_features: int
    n_atoms: int

    @abstractmethod
    def decode(self, codes: Tensor) -> Tensor:
        """Return the (b, d) rows of codes (b, m)."""

    @abstractmethod
    def encode(self, rows: Tensor) -> Tensor:
        """Return the (b, m) step of the codes that (b, d) residuals ask for."""

    @abstractmethod
    def draw(self, sample: Tensor, generator: torch.Generator) -> None:
        """Draw the parameters, for rows such as those of a sample."""

    @abstractmethod
    def threshold(self, sample: Tensor, sparsity: float) -> Tensor:
        """Return the threshold of codes to start from."""

    def project(self) -> None:
        """Project the parameters onto their constraints; nothing by default."""

    @torch.no_grad()
    def atoms(self) -> Tensor:
        """Return what each code of length one adds to the row of the empty code, (m, d)."""
        units = torch.eye(self.n_atoms, device=next(self.parameters()).device)
        return self.decode(units) - self.decode(torch.zeros_like(units[:1]))


class LinearDictionary(Dictionary):
    """dec(z) = z A' and enc(r) = r B, with atoms a_j of length one at most.

    Examples
    --------
    >>> dictionary = LinearDictionary(2, 3)
    >>> dictionary.draw(torch.eye(2), torch.Generator().manual_seed(0))
    >>> bool((dictionary.atoms().norm(dim=1) < 1.0001).all())
    True
    """

    def __init__(self, n_features: int, n_atoms: int) -> None:
        super().__init__()
        self.n_features, self.n_atoms = n_features, n_atoms
        self.matrix = nn.Parameter(torch.zeros(n_features, n_atoms))
        self.adjoint = nn.Parameter(torch.zeros(n_features, n_atoms))

    def decode(self, codes: Tensor) -> Tensor:
        """Return z A'."""
        return codes @ self.matrix.T

    def encode(self, rows: Tensor) -> Tensor:
        """Return r B; ADMM's own B is alpha A."""
        return rows @ self.adjoint

    @torch.no_grad()
    def draw(self, sample: Tensor, generator: torch.Generator) -> None:
        """Take rows of the sample as atoms, a little apart from each other, and alpha = 0.9 / ||A||^2 (spec E1)."""
        rows = sample[torch.randint(len(sample), (self.n_atoms,), generator=generator)]
        noise = torch.randn(rows.shape, generator=generator).to(rows)
        apart = rows + _JITTER * sample.std(0, correction=0).mean() * noise
        self.matrix.copy_(F.normalize(apart, dim=1, eps=_LEAST_NORM).T)
        self.adjoint.copy_(self._step() * self.matrix)

    def _step(self) -> Tensor:
        return _STEP_SHARE / torch.linalg.matrix_norm(self.matrix, 2).square().clamp(min=_LEAST_NORM)

    def threshold(self, sample: Tensor, sparsity: float) -> Tensor:
        """Return lambda alpha, ADMM's own (spec E4)."""
        return sparsity * self._step()

    @torch.no_grad()
    def project(self) -> None:
        """Shorten the atoms that are longer than one: else they grow so that codes may shrink (spec E8)."""
        self.matrix.div_(self.matrix.norm(dim=0).clamp(min=1))


class NetworkDictionary(Dictionary):
    """An encoder and the decoder that mirrors it.

    Parameters
    ----------
    encoder, decoder : Module
        (b, d) to (b, m) and back.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, n_features: int, n_atoms: int) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.n_features, self.n_atoms = n_features, n_atoms

    def decode(self, codes: Tensor) -> Tensor:
        """Return the decoder's rows."""
        return self.decoder(codes)

    def encode(self, rows: Tensor) -> Tensor:
        """Return the encoder's codes."""
        return self.encoder(rows)

    def draw(self, sample: Tensor, generator: torch.Generator) -> None:
        """Draw all weights by Xavier's rule."""
        initialise(self, generator)

    @torch.no_grad()
    def threshold(self, sample: Tensor, sparsity: float) -> Tensor:
        """Return a share of the spread of the encoder's output: the printed 0.15 would kill every code."""
        return _SPREAD_SHARE * self.encoder(sample[:_FIRST_ROWS]).std(correction=0)


def make_dictionary(
    kind: str, n_features: int, n_atoms: int, hidden: Sequence[int], image_shape: Sequence[int] | None
) -> Dictionary:
    """Return a dictionary of a kind; a convolutional one has as many atoms as its maps have pixels.

    Examples
    --------
    >>> make_dictionary("conv", 64, 0, (), (8, 8)).n_atoms
    512
    """
    if kind == "linear":
        return LinearDictionary(n_features, n_atoms)
    if kind == "mlp":
        return NetworkDictionary(*mlp_pair(n_features, hidden, n_atoms), n_features, n_atoms)
    assert image_shape is not None
    encoder, decoder, width = conv_maps(image_shape)
    return NetworkDictionary(encoder, decoder, n_features, width)
