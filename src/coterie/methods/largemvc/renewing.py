"""A forward pass of Algorithm 1 as printed: the anchors of each layer follow from the codes of the layer before."""

# b rows, v views

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from coterie.collectives import ALONE, Collectives
from coterie.methods.largemvc.features import Rows
from coterie.methods.largemvc.network import AnchorModule, Layer, UnfoldedNetwork


def renewed_layers(
    network: UnfoldedNetwork, rows: Sequence[Rows], present: Tensor, collectives: Collectives = ALONE
) -> list[Layer]:
    """Run all layers on rows (b, d) per view with a mask (b, v), and set the anchors after each (Eqs. 11 to 13).

    The first layer keeps its anchors, those of the initial partition. No gradient passes through an anchor step (spec
    3.7); it reaches a layer through the codes of the one before.
    """
    layers = []
    for number, layer in enumerate(network.unfold(rows, present)):
        module = AnchorModule(network.anchors(number))
        module.add(layer.codes.detach(), rows, layer.weights.detach(), present)
        network.set_anchors(number + 1, module.step(collectives))
        layers.append(layer)
    return layers
