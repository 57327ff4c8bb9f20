"""The network: block coordinate descent unfolded into layers with a few learnable parameters (Eq. 11 to 13)."""

# b rows, v views, m anchors, d columns of a view, l layers

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from coterie.collectives import ALONE, Collectives
from coterie.methods.largemvc import objective
from coterie.methods.largemvc.features import Rows, scores, squares

_EPSILON = 1e-12


class RepresentModule(nn.Module):
    r"""The code step, Eq. 11 corrected: :math:`H \leftarrow \mathrm{relu}(H R + G U - \theta_l)`.

    G is the mean over the present views of the codes they propose. With the initial R = 0 and U = I, both shared by
    the layers, a layer is the exact step of block descent. The paper thresholds each view and averages afterwards,
    which can raise the objective (spec 3.1); `per_view` is that form, and `threshold` names the printed threshold.
    """

    def __init__(
        self,
        n_anchors: int,
        n_layers: int,
        theta: float = 0.1,
        per_view: bool = False,
        threshold: str = "non-negative",
    ) -> None:
        super().__init__()
        self.per_view, self.threshold = per_view, threshold
        self.residual = nn.Parameter(torch.zeros(n_anchors, n_anchors))
        self.mixing = nn.Parameter(torch.eye(n_anchors))
        self.raw_theta = nn.Parameter(inverse_softplus(torch.full((n_layers,), theta)))

    @property
    def theta(self) -> Tensor:
        """The thresholds of the layers, above zero."""
        return F.softplus(self.raw_theta)

    def forward(
        self, layer: int, codes: Tensor, proposals: Sequence[Tensor], present: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the next codes and the mean of the proposals, both (b, m)."""
        carried, theta = codes @ self.residual, self.theta[layer]
        mean = objective.mean_present(proposals, present)
        if self.per_view:
            steps = [self.step(carried + proposal @ self.mixing, theta) for proposal in proposals]
            return objective.mean_present(steps, present), mean
        return self.step(carried + mean @ self.mixing, theta), mean

    def step(self, mean: Tensor, theta: Tensor | float) -> Tensor:
        """Return what is above the threshold, (b, m)."""
        if self.threshold == "non-negative":
            return objective.code_step(mean, theta)
        return objective.two_sided_step(mean, theta, F.selu if self.threshold == "selu" else torch.relu)

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Draw R and U, as the layers of the released code start: uniform within 1 / sqrt(m)."""
        bound = len(self.mixing) ** -0.5
        for table in (self.residual, self.mixing):
            table.copy_((2 * torch.rand(table.shape, generator=generator) - 1) * bound)


class NoiseModule(nn.Module):
    r"""The noise step, Eq. 12, as row weights: :math:`w = \min(1, \rho_{lv} / \|x - h P_v\|)`."""

    def __init__(self, n_layers: int, n_views: int) -> None:
        super().__init__()
        self.raw_rho = nn.Parameter(torch.zeros(n_layers, n_views))

    @property
    def rho(self) -> Tensor:
        """The thresholds of layers and views, above zero."""
        return F.softplus(self.raw_rho)

    def forward(self, layer: int, residuals: Tensor) -> Tensor:
        """Return the weights of rows from their residual norms, both (b, v)."""
        return objective.row_weights(residuals, self.rho[layer])


class AnchorModule:
    """The anchor step, Eq. 13: sums over any number of batches, then new anchors, without a gradient (spec 3.7)."""

    def __init__(self, anchors: Sequence[Tensor]) -> None:
        self.anchors = list(anchors)
        m = len(anchors[0])
        # In double precision the order of the batches, and with it the number of processes, is rounded away.
        self.sums = [
            tuple(
                torch.zeros(m, width, dtype=torch.float64, device=own.device)
                for width in (own.shape[1], m, m)
            )
            for own in self.anchors
        ]

    @torch.no_grad()
    def add(self, codes: Tensor, rows: Sequence[Rows], weights: Tensor, present: Tensor) -> None:
        """Add a batch; the sums do not depend on how rows are cut into batches."""
        for v, x in enumerate(rows):
            column = slice(v, v + 1)
            parts = objective.anchor_sums(codes, x, weights[:, column], present[:, column])
            for total, part in zip(self.sums[v], parts, strict=True):
                total += part

    @torch.no_grad()
    def step(self, collectives: Collectives = ALONE) -> list[Tensor]:
        """Return the next layer's anchors from the sums of all processes."""
        return [
            objective.anchor_step(own, *(collectives.sum(part).to(own.dtype) for part in sums))
            for own, sums in zip(self.anchors, self.sums, strict=True)
        ]


@dataclass(frozen=True)
class Layer:
    """The output of a layer for a batch."""

    codes: Tensor  # (b, m)
    weights: Tensor  # (b, v), weights of the rows in each view; 1 without a noise step
    mean: Tensor  # (b, m), mean of the views' proposals, before the threshold
    residuals: Tensor  # (b, v), |x - h P| with the layer's own anchors

    def unit_codes(self) -> Tensor:
        """Return codes of unit norm, (b, m); where the threshold left nothing, the mean before it (spec 6)."""
        empty = self.codes.sum(1, keepdim=True) <= 0
        return F.normalize(torch.where(empty, self.mean, self.codes), dim=1, eps=_EPSILON)


class UnfoldedNetwork(nn.Module):
    """Layers of code and noise steps; the anchors of each layer are buffers.

    `widths` are the numbers of features of the views. Without `noise` this is the paper's AMvC-Net; `per_view` and
    `threshold` are those of `RepresentModule`. With `unit_codes` rows are placed by codes of unit norm.
    """

    def __init__(
        self,
        widths: Sequence[int],
        n_anchors: int,
        n_layers: int,
        *,
        noise: bool = True,
        per_view: bool = False,
        threshold: str = "non-negative",
        unit_codes: bool = True,
    ) -> None:
        super().__init__()
        self.widths, self.n_layers, self.unit_codes = tuple(widths), n_layers, unit_codes
        self.represent = RepresentModule(n_anchors, n_layers, per_view=per_view, threshold=threshold)
        self.noise = NoiseModule(n_layers, len(widths)) if noise else None
        for layer in range(n_layers + 1):
            for v, width in enumerate(widths):
                self.register_buffer(f"anchors_{layer}_{v}", torch.zeros(n_anchors, width))

    def anchors(self, layer: int) -> list[Tensor]:
        """Return the anchors of a layer, (m, d) for each view; layer `n_layers` has the final ones."""
        return [self.get_buffer(f"anchors_{layer}_{v}") for v in range(len(self.widths))]

    @torch.no_grad()
    def set_anchors(self, layer: int, anchors: Sequence[Tensor]) -> None:
        """Set the anchors of a layer."""
        for buffer, new in zip(self.anchors(layer), anchors, strict=True):
            buffer.copy_(new)

    def forward(self, rows: Sequence[Rows], present: Tensor, n_layers: int | None = None) -> list[Layer]:
        """Run the first `n_layers` layers, by default all, on rows (b, d) per view with a mask (b, v)."""
        return list(islice(self.unfold(rows, present), n_layers))

    def unfold(self, rows: Sequence[Rows], present: Tensor) -> Iterator[Layer]:
        """Run the layers one by one; the anchors of a layer may be set until it is asked for."""
        norms = [squares(x) for x in rows]
        codes = present.new_zeros(len(present), len(self.represent.mixing))
        weights = torch.ones_like(present)
        for layer in range(self.n_layers):
            anchors = self.anchors(layer)
            projected = [scores(x, own) for x, own in zip(rows, anchors, strict=True)]
            proposals = [
                objective.proposal(codes, score, own, weights[:, v : v + 1])
                for v, (score, own) in enumerate(zip(projected, anchors, strict=True))
            ]
            codes, mean = self.represent(layer, codes, proposals, present)
            residuals = torch.stack(
                [
                    objective.residuals(norm, codes, score, own)
                    for norm, score, own in zip(norms, projected, anchors, strict=True)
                ],
                dim=1,
            )
            weights = self.noise(layer, residuals) if self.noise is not None else weights
            yield Layer(codes, weights, mean, residuals)

    def places(self, layer: Layer) -> Tensor:
        """Return what rows are clustered by, (b, m): codes of unit norm, or the codes of the layer as they are."""
        return layer.unit_codes() if self.unit_codes else layer.codes

    def residuals(self, rows: Sequence[Rows], codes: Tensor, layer: int) -> Tensor:
        """Return |x - h P| of codes with the anchors of a layer, (b, v)."""
        return torch.stack(
            [
                objective.residuals(squares(x), codes, scores(x, own), own)
                for x, own in zip(rows, self.anchors(layer), strict=True)
            ],
            dim=1,
        )


def inverse_softplus(values: Tensor) -> Tensor:
    """Return x with softplus(x) = values."""
    return values + torch.log(-torch.expm1(-values))
