"""From parameters and data to the parts of a run: sample, metric, network, settings."""

# n rows, D features, d code features

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coterie.data.batches import Batches
from coterie.data.subsets import some_rows
from coterie.errors import InputError
from coterie.methods.pcx.network import PCXNetwork
from coterie.methods.pcx.settings import Settings
from coterie.nn.autoencoder import as_image_shape, check_code, conv_pair, initialise, mlp_pair
from coterie.nn.metric import MetricSpace

SAMPLE_ROWS = 5000
STREAM_RATE = 0.1  # share of the learning rate with which a fitted model follows a stream
_LEAST_STEPS = 2500
_MOST_EPOCHS = 60
_ENOUGH_STEPS = 20_000


def draw_sample(batches: Batches, seed: int) -> Tensor:
    """Return at most 5,000 scaled rows, drawn evenly."""
    rows = some_rows(batches.views.n_rows, SAMPLE_ROWS, seed)
    return torch.from_numpy(np.hstack(batches.read(rows)))


def build_network(params: Mapping[str, Any], kind: str, n_features: int) -> PCXNetwork:
    """Return the network with all its buffers, untrained; a user's modules are copied, never changed."""
    n_code = params["n_code"]
    with torch.random.fork_rng(devices=[]):  # layers draw from the global generator as they are made
        encoder, decoder = _autoencoder(params, n_features)
        return PCXNetwork(
            MetricSpace(kind, n_features),
            MetricSpace("euclidean", n_features),
            encoder,
            decoder,
            n_clusters=params["n_clusters"],
            n_code=n_code,
            ci_unit=params["ci_unit"],
            latent_norm=params["latent_norm"],
            logits=params["reconstruction"] == "bce",
        )


def prepare_network(
    network: PCXNetwork, sample: Tensor, params: Mapping[str, Any], generator: torch.Generator
) -> None:
    """Fit the metric spaces on a sample and draw the weights; a user's own modules keep theirs."""
    network.space.fit(sample)
    if params["reconstruction"] == "bce":
        if sample.min() < 0 or sample.max() > 1:
            raise InputError(
                "reconstruction='bce' needs values from 0 to 1; use scale='minmax' or reconstruction='mse'."
            )
    else:
        network.target.fit(sample)
    ours = (
        [network.fuse]
        if isinstance(params["encoder"], nn.Module)
        else [network.encoder, network.decoder, network.fuse]
    )
    for part in ours:
        initialise(part, generator)


def _autoencoder(params: Mapping[str, Any], n_features: int) -> tuple[nn.Module, nn.Module]:
    encoder, decoder, n_code = params["encoder"], params["decoder"], params["n_code"]
    if isinstance(encoder, nn.Module):
        if not isinstance(decoder, nn.Module):
            raise InputError("A custom encoder needs its decoder: give decoder= a module from codes to rows.")
        check_code(encoder, n_features, n_code)
        return copy.deepcopy(encoder), copy.deepcopy(decoder)
    if decoder is not None:
        raise InputError("decoder= goes with a custom encoder; leave it out, or give encoder= a module too.")
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


def resolve_settings(params: Mapping[str, Any], per_epoch: int, with_pairs: bool) -> Settings:
    """Return the settings of the run, with nothing left to decide."""
    epochs = auto_epochs(per_epoch) if params["max_epochs"] == "auto" else params["max_epochs"]
    names = Settings.__dataclass_fields__.keys() & params.keys()
    chosen = {name: params[name] for name in names}
    chosen |= {"max_epochs": epochs, "warmup_epochs": round(params["warmup"] * epochs)}
    if not with_pairs:
        chosen["neighbor_weight"] = 0.0
    return Settings(**chosen)


def auto_epochs(per_epoch: int) -> int:
    """Return how many epochs suit so many batches in each: 20,000 steps, within 2,500 steps and 60 epochs.

    Examples
    --------
    >>> [auto_epochs(batches) for batches in (8, 40, 274, 4000)]
    [313, 63, 60, 5]
    """
    return max(math.ceil(_LEAST_STEPS / per_epoch), min(_MOST_EPOCHS, math.ceil(_ENOUGH_STEPS / per_epoch)))


def learning_schedule(name: str, warmup: float) -> Callable[[float], float] | None:
    """Return the factor of the learning rate over the course of training; None when it is constant.

    "onecycle" rises over the first tenth of the warm-up and falls as a cosine to nearly nothing at its end;
    the cluster phase then starts at a half and falls likewise.

    Examples
    --------
    >>> rate = learning_schedule("onecycle", warmup=0.5)
    >>> [round(rate(done), 3) for done in (0.0, 0.05, 0.4999, 0.5, 1.0)]
    [0.04, 1.0, 0.001, 0.5, 0.001]
    """
    if name == "constant":
        return None

    def onecycle(done: float) -> float:
        if done >= warmup:
            return _cosine(0.5, 0.001, (done - warmup) / max(1 - warmup, 1e-9))
        done = done / warmup
        return _cosine(0.04, 1.0, done / 0.1) if done < 0.1 else _cosine(1.0, 0.001, (done - 0.1) / 0.9)

    return onecycle


def _cosine(start: float, end: float, done: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * min(done, 1.0))) / 2
