"""From parameters to the network and the settings of a run."""

# D features, d code features

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from coterie.errors import InputError
from coterie.graph.metric import MetricSpace
from coterie.methods.pcx.network import PCXNetwork
from coterie.nn.autoencoder import as_image_shape, check_code, conv_pair, initialise, mlp_pair


def build_network(params: Mapping[str, Any], kind: str, n_features: int) -> PCXNetwork:
    """Return the network with all its buffers, untrained; a user's modules are copied, never changed."""
    n_code, options = params["n_code"], params["options"]
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        encoder, decoder = _autoencoder(params, n_features)
        return PCXNetwork(
            MetricSpace(kind, n_features),
            MetricSpace("euclidean", n_features),
            encoder,
            decoder,
            n_clusters=params["n_clusters"],
            n_code=n_code,
            ci_unit=options.ci_unit,
            logits=options.reconstruction == "bce",
        )


def prepare_network(
    network: PCXNetwork, sample: Tensor, params: Mapping[str, Any], generator: torch.Generator
) -> None:
    """Fit the metric spaces on a sample and draw the weights; a user's own modules keep theirs."""
    network.space.fit(sample)
    if params["options"].reconstruction == "bce":
        if sample.min() < 0 or sample.max() > 1:
            raise InputError(
                "reconstruction='bce' needs values from 0 to 1; use scale='minmax' or reconstruction='mse'."
            )
    else:
        network.target.fit(sample)
    ours = (
        [network.encoder, network.decoder, network.fuse]
        if isinstance(params["encoder"], str)
        else [network.fuse]
    )
    for part in ours:
        initialise(part, generator)


def _autoencoder(params: Mapping[str, Any], n_features: int) -> tuple[nn.Module, nn.Module]:
    encoder, n_code = params["encoder"], params["n_code"]
    if not isinstance(encoder, str):
        if len(encoder) != 2 or not all(isinstance(module, nn.Module) for module in encoder):
            raise InputError(
                "A custom encoder needs its decoder: give encoder=(encoder, decoder), two modules."
            )
        check_code(encoder[0], n_features, n_code)
        return copy.deepcopy(encoder[0]), copy.deepcopy(encoder[1])
    if encoder == "mlp":
        return mlp_pair(n_features, tuple(params["hidden"]), n_code)
    if params["image_shape"] is None:
        raise InputError("encoder='conv' needs image_shape=(height, width) or (channels, height, width).")
    shape = as_image_shape(params["image_shape"])
    if math.prod(shape) != n_features:
        raise InputError(
            f"image_shape={shape} has {math.prod(shape)} pixels, but rows have {n_features} features."
        )
    return conv_pair(shape, n_code)
