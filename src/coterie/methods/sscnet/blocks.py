"""Differentiable sparse coding: blocks that are steps of linearised ADMM with learnable maps and thresholds.

The problem behind them (Eq. 2, weighted as in Eq. 12; spec E4), for each row x on its own:

    min ||e||_2 + lambda ||z||_1   subject to   x = dec(z) + e
"""

# b rows of a batch, d features, m atoms

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from coterie.methods.sscnet.dictionaries import Dictionary
from coterie.ops.shrinkage import shrink_rows, soft_threshold


@dataclass(frozen=True)
class Coded:
    """Sparse codes of rows and the state of their ADMM steps."""

    codes: Tensor  # (b, m): z
    errors: Tensor  # (b, d): e, the part that is judged corrupt
    multipliers: Tensor  # (b, d): of the constraint (the paper's lambda^(k))
    decoded: Tensor  # (b, d): dec(z) of the last block


class Block(nn.Module):
    r"""One step of linearised ADMM with learnable parameters (Eq. 7 to 11).

    .. math::
        t &= dec(z) + e - x \\
        z &\leftarrow R(z - enc(\lambda + \beta \circ t);\, b_1) \\
        e &\leftarrow shrink(x - dec(z) - w_1 \circ \lambda;\, b_2) \\
        \lambda &\leftarrow \lambda + \beta \circ (dec(z) + e - x)

    where enc contains the step. Every parameter belongs to a feature or an atom, never to a row of the batch
    (spec E3). Without a state the block starts from zeros, and its code is :math:`R(enc(\beta \circ x); b_1)`, the
    only reading of the printed start that has the right dimensions (spec E2).

    Parameters
    ----------
    error : {"column", "element"}
        The shrinkage of e: of whole rows as in Eq. 6, or of single entries as printed in Eq. 10 (spec E5).

    Attributes
    ----------
    penalty, inverse_penalty : Parameter of shape (d,)
        beta and w_1.
    code_threshold : Parameter of shape (m,)
        b_1.
    error_threshold : Parameter of shape (d,), or (1,) for whole rows
        b_2.
    """

    def __init__(self, dictionary: Dictionary, error: str = "column") -> None:
        super().__init__()
        d, m = dictionary.n_features, dictionary.n_atoms
        self.dictionary, self.error = dictionary, error
        self.penalty = nn.Parameter(torch.ones(d))
        self.inverse_penalty = nn.Parameter(torch.ones(d))
        self.code_threshold = nn.Parameter(torch.zeros(m))
        self.error_threshold = nn.Parameter(torch.ones(1 if error == "column" else d))

    def codes(self, x: Tensor, state: Coded | None = None) -> Tensor:
        """Return z after one step."""
        if state is None:
            codes = self.dictionary.encode(self.penalty * x)
        else:
            residual = self.dictionary.decode(state.codes) + state.errors - x
            codes = state.codes - self.dictionary.encode(state.multipliers + self.penalty * residual)
        return soft_threshold(codes, self.code_threshold)

    def forward(self, x: Tensor, state: Coded | None = None) -> Coded:
        """Return the state after one step."""
        codes = self.codes(x, state)
        multipliers = torch.zeros_like(x) if state is None else state.multipliers
        decoded = self.dictionary.decode(codes)
        shrink = shrink_rows if self.error == "column" else soft_threshold
        errors = shrink(x - decoded - self.inverse_penalty * multipliers, self.error_threshold)
        multipliers = multipliers + self.penalty * (decoded + errors - x)
        return Coded(codes, errors, multipliers, decoded)

    @torch.no_grad()
    def project(self) -> None:
        """Keep penalties and thresholds from becoming negative (spec E6) and atoms from growing (spec E8)."""
        for parameter in (self.penalty, self.inverse_penalty, self.code_threshold, self.error_threshold):
            parameter.clamp_(min=0)
        self.dictionary.project()


class SparseCoder(nn.Module):
    """A stack of blocks: rows in, sparse codes and errors out, each row on its own.

    Parameters
    ----------
    dictionaries : list of Dictionary
        One a block. With none of the blocks' steps (`n_blocks` = 0) the first is a plain auto-encoder.
    n_blocks : int
        With one dictionary and more blocks all of them share it, thresholds included.

    Examples
    --------
    >>> from coterie.methods.sscnet.dictionaries import LinearDictionary
    >>> coder = SparseCoder([LinearDictionary(4, 8)], n_blocks=3)
    >>> coder(torch.zeros(2, 4)).codes.shape
    torch.Size([2, 8])
    """

    def __init__(self, dictionaries: list[Dictionary], n_blocks: int, error: str = "column") -> None:
        super().__init__()
        self.steps = [Block(dictionary, error) for dictionary in dictionaries]
        self.blocks = nn.ModuleList(self.steps)
        self.n_blocks = n_blocks

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the last block, in whose atoms the codes are written."""
        return self.steps[-1].dictionary

    def forward(self, x: Tensor) -> Coded:
        """Return the state after the last block."""
        if self.n_blocks == 0:
            codes = self.codes(x)
            decoded = self.dictionary.decode(codes)
            return Coded(codes, x - decoded, torch.zeros_like(x), decoded)
        return self.steps[-1](x, self._before_last(x))

    def codes(self, x: Tensor) -> Tensor:
        """Return the codes after the last block, without what else there is in its state."""
        if self.n_blocks == 0:
            return self.dictionary.encode(x)
        return self.steps[-1].codes(x, self._before_last(x))

    def _before_last(self, x: Tensor) -> Coded | None:
        state = None
        for number in range(self.n_blocks - 1):
            state = self.steps[min(number, len(self.steps) - 1)](x, state)
        return state

    @torch.no_grad()
    def prepare(self, sample: Tensor, sparsity: float, generator: torch.Generator) -> None:
        """Draw the dictionaries and set the thresholds by a sample of rows, so that codes neither die nor drown.

        All blocks start from the same dictionary, as the steps of one solver do. A linear one gets ADMM's own
        threshold, sparsity times the step; others a tenth of the spread of what their encoder gives.
        """
        first = self.steps[0]
        first.dictionary.draw(sample, generator)
        for block in self.steps:
            block.dictionary.load_state_dict(first.dictionary.state_dict())
            block.code_threshold.copy_(block.dictionary.threshold(sample, sparsity))

    def project(self) -> None:
        """Project the parameters of every block onto their constraints."""
        for block in self.steps:
            block.project()
