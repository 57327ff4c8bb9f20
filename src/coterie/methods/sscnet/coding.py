"""Sparse codes of rows over a dictionary, each with a certificate of how far it may be from the optimum."""

# n rows, d features, m atoms, b rows of a block

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from coterie.ops.shrinkage import shrink_rows, soft_threshold

ERRORS = ("column", "element")
_BLOCK = 1024
_EVERY = 10
_RELAXATION = 1.7
_IMBALANCE = 3.0
_LEAST = 1e-30


@dataclass(frozen=True)
class SparseCodes:
    """Sparse codes of rows."""

    codes: Tensor  # (n, m)
    errors: Tensor  # (n, d): what the codes leave, X - Z A'
    gaps: Tensor  # (n,): by what share of itself the objective of each row is above its minimum, at most
    n_iter: int  # steps of the row that took most
    converged: bool  # whether all gaps are within the tolerance


def sparse_code(
    X: Tensor,
    A: Tensor,
    lam: Tensor | float,
    *,
    error: str = "column",
    beta: float | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    forbid_self: bool = False,
) -> SparseCodes:
    r"""Write every row as a sparse combination of atoms and an error.

    .. math:: \min_{Z, E} \lVert Z \rVert_1 + \sum_i \lambda_i \lVert e_i \rVert
              \quad \text{s.t.} \quad X = Z A^\top + E, \quad z_{ii} = 0 \text{ where asked}

    (SSCNet, Eq. 2, with rows for samples), where the norm of an error is its length ("column") or the sum of its
    absolute values ("element", which is what the paper's Eq. 10 solves, spec sscnet E5).

    The linearised steps of Eq. 4 may be as long as 1 / |A|^2 (spec E1), which is short where atoms resemble each
    other, and converges slowly. So the step in Z is exact here, by two products of the same size. With H = Z A' the
    alternating directions are a proximal step and a projection onto the graph of A (Parikh and Boyd 2014),

    .. math:: \hat Z = R(Z - U; 1 / \beta), \quad \hat H = X - \mathrm{shrink}(X - H + V; \lambda / \beta), \quad
              r = (\hat H + V - (\hat Z + U) A^\top) (I + A A^\top)^{-1}

    .. math:: Z \leftarrow \hat Z + U + r A, \quad H \leftarrow \hat H + V - r, \quad U \leftarrow -r A, \quad
              V \leftarrow r

    with A scaled to a mean square singular value of one and over-relaxed by 1.7. Rows do not depend on each other:
    each has its penalty beta, doubled or halved where primal and dual residuals differ by more than three times,
    after 10, 20, 40, ... steps, and each is done when the gap between its objective and that of the dual,

    .. math:: \max_\nu x^\top \nu \quad \text{s.t.} \quad \lVert A^\top \nu \rVert_\infty \le 1, \quad
              \lVert \nu \rVert_* \le \lambda,

    is at most `tol` of it. So a row alone gets the code that it gets among others, up to rounding.

    Parameters
    ----------
    X : Tensor of shape (n, d)
    A : Tensor of shape (d, m)
        Atoms as columns.
    lam : float or Tensor of shape (n,)
        Weight of the errors. A code is zero unless it is above |x| / max_j |x a_j|, for errors by length.
    beta : float, optional
        The first penalty; by default `lam` over the length of the row.
    tol : float
        Largest relative gap.
    forbid_self : bool
        Whether atom i is forbidden in the code of row i; then n must be m.

    Returns
    -------
    SparseCodes

    Warns
    -----
    ConvergenceWarning
        When some row's gap is still larger than `tol` after `max_iter` steps.

    Examples
    --------
    >>> atoms = torch.tensor([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> coded = sparse_code(torch.tensor([[0.6, 0.8]]), atoms, lam=10.0, tol=1e-6)
    >>> coded.codes.round(decimals=3) + 0
    tensor([[0., 0., 1.]])
    """
    coded = SparseCodes(X.new_zeros(len(X), A.shape[1]), X.clone(), X.new_zeros(len(X)), 0, True)
    weights = torch.as_tensor(lam, dtype=X.dtype, device=X.device).expand(len(X))[:, None]
    dictionary = _Dictionary(A)
    for rows in torch.arange(len(X), device=X.device).split(_BLOCK):
        block = _Block(dictionary, rows, X[rows], weights[rows], error, beta, forbid_self)
        coded = _solve(block, coded, tol, max_iter)
    if not coded.converged:
        warnings.warn(
            f"{int((coded.gaps > tol).sum())} of {len(X)} sparse codes are not within tol={tol:g} of the optimum "
            f"after max_iter={max_iter} steps (the farthest: {float(coded.gaps.max()):.2g}); allow more steps.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return coded


def _solve(block: _Block, coded: SparseCodes, tol: float, max_iter: int) -> SparseCodes:
    """Write the codes of a block where they belong, each when it is done."""
    converged = True
    for step in range(1, max_iter + 1):
        # Ever more rarely, for penalties that change for ever keep the steps from converging.
        block.advance(balance=step % _EVERY == 0 and (step // _EVERY).bit_count() == 1)
        last = step == max_iter
        if step % _EVERY and not last:
            continue
        errors, gaps = block.gaps()
        done = gaps <= tol
        converged = bool(done.all())
        ready = torch.ones_like(done) if last else done
        at = block.rows[ready]
        coded.codes[at], coded.errors[at], coded.gaps[at] = block.codes[ready], errors[ready], gaps[ready]
        if ready.all():
            break
        block.keep(~ready)
    return replace(coded, n_iter=max(coded.n_iter, step), converged=coded.converged and converged)


class _Dictionary:
    """The atoms, scaled, and what projects onto their graph."""

    def __init__(self, A: Tensor) -> None:
        size = float(torch.linalg.matrix_norm(A))
        self.scale = len(A) ** 0.5 / size if size > 0 else 1.0
        self.atoms = A * self.scale
        square = (self.atoms @ self.atoms.T).double()
        self.inverse = torch.linalg.inv(square + torch.eye(len(A)).to(square)).to(A)


class _Block:
    """Rows that are being coded, and where the alternating directions are with each."""

    def __init__(
        self,
        dictionary: _Dictionary,
        rows: Tensor,
        X: Tensor,
        lam: Tensor,
        error: str,
        beta: float | None,
        forbid_self: bool,
    ) -> None:
        self.dictionary, self.by_length, self.forbid_self = dictionary, error == "column", forbid_self
        self.rows, self.X, self.lam = rows, X, lam
        lengths = torch.linalg.vector_norm(X, dim=1, keepdim=True)
        first = lam / torch.where(lengths > 0, lengths, 1)
        self.beta = first if beta is None else torch.full_like(first, beta)
        self.Z = X.new_zeros(len(X), dictionary.atoms.shape[1])
        self.H, self.V, self.U = torch.zeros_like(X), torch.zeros_like(X), self.Z
        # The row itself, made feasible, is a first dual point, and the best for a row that is an atom.
        self.dual = X * lam / (lengths if self.by_length else X.abs().amax(1, keepdim=True)).clamp(min=_LEAST)
        self.lower = self._feasible()

    def advance(self, balance: bool) -> None:
        """Make one step; with `balance`, adapt the penalties of rows where one residual outweighs the other."""
        atoms = self.dictionary.atoms
        self.sparse = self._without_self(soft_threshold(self.Z - self.U, self.dictionary.scale / self.beta))
        shrink = shrink_rows if self.by_length else soft_threshold
        left = shrink(self.X - self.H + self.V, self.lam / self.beta)
        # The dual point: shrinkage leaves of it what the error's norm allows.
        self.dual = self.beta * (self.X - self.H + self.V - left)
        fit = self.X - left
        z = _RELAXATION * self.sparse + (1 - _RELAXATION) * self.Z + self.U
        h = _RELAXATION * fit + (1 - _RELAXATION) * self.H + self.V
        self.V = (h - z @ atoms.T) @ self.dictionary.inverse
        self.U = -self.V @ atoms
        Z, H = z - self.U, h - self.V
        if balance:
            primal = _size(self.sparse - Z, fit - H) / _size(Z, H)
            dual = _size(Z - self.Z, H - self.H) / _size(self.U, self.V)
            self._balance(primal > _IMBALANCE * dual, dual > _IMBALANCE * primal)
        self.Z, self.H = Z, H

    def _balance(self, raise_: Tensor, lower: Tensor) -> None:
        factor = 1.0 + raise_.to(self.X) - 0.5 * lower.to(self.X)
        self.beta, self.U, self.V = self.beta * factor, self.U / factor, self.V / factor

    @property
    def codes(self) -> Tensor:
        """The codes, (b, m)."""
        return self.sparse * self.dictionary.scale

    def gaps(self) -> tuple[Tensor, Tensor]:
        """Return the residuals, (b, d), and the relative gaps to the best lower bound so far, (b,)."""
        self.lower = torch.maximum(self.lower, self._feasible())
        errors = self.X - self.sparse @ self.dictionary.atoms.T
        sizes = torch.linalg.vector_norm(errors, ord=2 if self.by_length else 1, dim=1)
        upper = self.codes.abs().sum(1) + self.lam[:, 0] * sizes
        return errors, (upper - self.lower) / torch.where(upper > 0, upper, 1)

    def _feasible(self) -> Tensor:
        """Return the dual objective at the dual point, divided by what it takes to make it feasible, (b,)."""
        against = self._without_self(self.dual @ self.dictionary.atoms) / self.dictionary.scale
        return (self.X * self.dual).sum(1) / against.abs().amax(1).clamp(min=1)

    def keep(self, wanted: Tensor) -> None:
        """Drop the other rows."""
        for name in ("rows", "X", "lam", "beta", "Z", "H", "U", "V", "lower"):
            setattr(self, name, getattr(self, name)[wanted])

    def _without_self(self, codes: Tensor) -> Tensor:
        if self.forbid_self:
            codes[torch.arange(len(codes), device=codes.device), self.rows] = 0
        return codes


def _size(a: Tensor, b: Tensor) -> Tensor:
    """Return the lengths of the rows of both side by side, above zero, (b, 1)."""
    return (a.square().sum(1, keepdim=True) + b.square().sum(1, keepdim=True)).sqrt().clamp(min=_LEAST)
