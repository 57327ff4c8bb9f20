"""Training: gradient steps on R, U and the thresholds, an anchor step per epoch."""

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
from coterie.methods.largemvc.options import LargeMvCNetOptions
from coterie.methods.largemvc.renewing import renewed_layers
from coterie.store import below


class LargeMvCTask:
    """LargeMvC-Net as a task of the training loop (Alg. 1).

    The anchors are constant during an epoch: their sums accumulate while it runs, and the polar factors are taken at
    its end, so no gradient passes through them (spec largemvc 3.7). With `renewed_anchors` each step takes its own
    anchors (`renewing.renewed_layers`). The loss is J itself, or Eq. 14, which has no term for noise or sparsity and
    drives both thresholds to their limits (spec 3.9).
    """

    def __init__(
        self,
        network: UnfoldedNetwork,
        inputs: Inputs,
        views: Views,
        alpha: float,
        options: LargeMvCNetOptions,
        collectives: Collectives = ALONE,
    ) -> None:
        self.network, self.inputs, self.views = network, inputs, views
        self.alpha, self.options, self.collectives = alpha, options, collectives
        self.optimizer = Adam(self._trained(), options.learning_rate)
        infinite = torch.full((len(network.widths),), torch.inf)
        # J is measured with the initial thresholds, so that learning cannot lower it by moving them.
        self.beta = infinite if network.noise is None else network.noise.rho[0].detach().clone()
        self._modules: list[AnchorModule] = []

    def begin_epoch(self, epoch: int) -> None:
        """Reset the anchor sums of each layer."""
        network = self.network
        self._modules = [AnchorModule(network.anchors(layer)) for layer in range(network.n_layers)]

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], None]:
        """Return the loss of a batch, and add it to the anchors' sums."""
        present = None if self.views.present is None else self.views.present[batch.rows[batch.own]]
        features = self.inputs.prepare(batch.views, present)
        if self._renews:
            layers = renewed_layers(self.network, features.rows, features.present, self.collectives)
        else:
            layers = self.network(features.rows, features.present)
            for module, layer in zip(self._modules, layers, strict=True):
                module.add(layer.codes.detach(), features.rows, layer.weights.detach(), features.present)
        codes = layers[-1].codes
        residuals = self.network.residuals(features.rows, codes, self.network.n_layers)
        observed = self.collectives.sum(features.present.sum(0)).clamp(min=1)
        recon = ((residuals.square() * features.present).sum(0) / observed).sum()
        value = objective.objective(residuals, codes, features.present, alpha=self.alpha, beta=self.beta)
        terms = {"recon": recon, "objective": value / len(batch.rows)}
        return {
            "loss": terms[self.options.loss],
            **{name: term.detach() for name, term in terms.items()},
        }, None

    def after_step(self, carried: None) -> None:
        """Do nothing."""

    def end_epoch(self, epoch: int) -> dict[str, float | str | int]:
        """Take the anchor step of all layers."""
        if not (self.options.fixed_anchors or self._renews):
            for layer, module in enumerate(self._modules):
                self.network.set_anchors(layer + 1, module.step(self.collectives))
        return {"phase": "train"}

    @property
    def _renews(self) -> bool:
        return self.options.renewed_anchors and not self.options.fixed_anchors

    def _trained(self) -> list[Tensor]:
        """Return the parameters that training moves."""
        everything = self.network.named_parameters()
        frozen = () if self.options.trained_thresholds else ("raw_theta", "raw_rho")
        return [value for name, value in everything if not name.endswith(frozen)]

    def state(self) -> dict[str, Tensor]:
        """Return the network's parameters and anchors."""
        return {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Restore what `state` returned."""
        self.network.load_state_dict(below("network.", state))
