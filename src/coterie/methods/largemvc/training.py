"""How the unfolded network learns: gradient steps on R, U and the thresholds, anchors renewed once an epoch."""

# b rows, v views, m anchors

from __future__ import annotations

import torch
from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.data.batches import Batch
from coterie.data.views import Views
from coterie.engine.adam import Adam
from coterie.methods.largemvc import objective
from coterie.methods.largemvc.inputs import Inputs
from coterie.methods.largemvc.network import AnchorModule, UnfoldedNetwork
from coterie.store import below

LOSSES = ("objective", "recon")


class LargeMvCTask:
    """LargeMvC-Net as a task of the training loop (Alg. 1).

    The anchors are constants of an epoch: their sums are gathered while it runs and the polar factors taken at its
    end, so no gradient goes through them (spec largemvc 3.7) and nothing of the size of the data is kept.

    Parameters
    ----------
    network : UnfoldedNetwork
    inputs : Inputs
    views : Views
        Says which views a row has.
    loss : {"objective", "recon"}
        J itself, or Eq. 14, which has no term for noise or sparsity and so drives both thresholds to their ends
        (spec 3.9).
    alpha : float
    learning_rate : float
    fixed_anchors : bool
    collectives : Collectives
    """

    def __init__(
        self,
        network: UnfoldedNetwork,
        inputs: Inputs,
        views: Views,
        *,
        loss: str,
        alpha: float,
        learning_rate: float,
        fixed_anchors: bool = False,
        collectives: Collectives = ALONE,
    ) -> None:
        self.network, self.inputs, self.views = network, inputs, views
        self.loss, self.alpha, self.fixed_anchors = loss, alpha, fixed_anchors
        self.collectives = collectives
        self.optimizer = Adam(network.parameters(), learning_rate)
        infinite = torch.full((len(network.widths),), torch.inf)
        # J is measured with the thresholds it started from, so that learning cannot lower it by moving them.
        self.beta = infinite if network.noise is None else network.noise.rho[0].detach().clone()
        self._modules: list[AnchorModule] = []

    def begin_epoch(self, epoch: int) -> None:
        """Begin new sums of the anchors of each layer."""
        network = self.network
        self._modules = [AnchorModule(network.anchors(layer)) for layer in range(network.n_layers)]

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the loss of a batch, and add it to the anchors' sums."""
        there = None if self.views.present is None else self.views.present[batch.rows[batch.own]]
        seen = self.inputs.see(batch.views, there)
        layers = self.network(seen.rows, seen.present)
        for module, layer in zip(self._modules, layers, strict=True):
            module.add(layer.codes.detach(), seen.rows, layer.weights.detach(), seen.present)
        codes = layers[-1].codes
        lengths = self.network.lengths(seen.rows, codes, self.network.n_layers)
        observed = self.collectives.sum(seen.present.sum(0)).clamp(min=1)
        recon = ((lengths.square() * seen.present).sum(0) / observed).sum()
        value = objective.objective(lengths, codes, seen.present, alpha=self.alpha, beta=self.beta)
        terms = {"recon": recon, "objective": value / len(batch.rows)}
        return {"loss": terms[self.loss], **{name: term.detach() for name, term in terms.items()}}, None

    def after_step(self, carried: None) -> None:
        """Nothing follows a gradient step."""

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Renew the anchors of all layers."""
        for layer, module in enumerate(self._modules):
            if not self.fixed_anchors:
                self.network.set_anchors(layer + 1, module.step(self.collectives))
        return {"phase": "train"}

    def state(self) -> dict[str, Tensor]:
        """Return the network's parameters and anchors."""
        return {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        self.network.load_state_dict(below("network.", state))
