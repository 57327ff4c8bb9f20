"""Encoders and their mirrored decoders: multi-layer perceptrons and small convolutional networks."""

# b batch, D input features, d code features

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from coterie.errors import InputError


def mlp(widths: Sequence[int]) -> nn.Sequential:
    """Return linear layers of these widths with ReLU between them and nothing after the last.

    Examples
    --------
    >>> [type(layer).__name__ for layer in mlp([4, 3, 2])]
    ['Linear', 'ReLU', 'Linear']
    """
    layers: list[nn.Module] = []
    for wide, narrow in itertools.pairwise(widths):
        layers += [nn.Linear(wide, narrow), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def mlp_pair(n_features: int, hidden: Sequence[int], n_code: int) -> tuple[nn.Module, nn.Module]:
    """Return an encoder D-hidden-d and the decoder that mirrors it.

    Examples
    --------
    >>> encoder, decoder = mlp_pair(8, (16,), 2)
    >>> decoder(encoder(torch.zeros(5, 8))).shape
    torch.Size([5, 8])
    """
    widths = [n_features, *hidden, n_code]
    return mlp(widths), mlp(widths[::-1])


# (channels, stride) of the four 3 x 3 convolutions of PC-X, appendix A.7
_CONVOLUTIONS = ((16, 1), (32, 2), (32, 1), (16, 2))
_DENSE = 256


def conv_pair(image_shape: Sequence[int], n_code: int) -> tuple[nn.Module, nn.Module]:
    """Return the convolutional encoder of PC-X (appendix A.7) and the decoder that mirrors it.

    Rows are flat images; `image_shape` is (height, width) or (channels, height, width).

    Examples
    --------
    >>> encoder, decoder = conv_pair((1, 28, 28), 10)
    >>> decoder(encoder(torch.zeros(2, 784))).shape
    torch.Size([2, 784])
    """
    down, up, n_flat = _mirrored_convolutions(image_shape, _CONVOLUTIONS, normalise=True)
    encoder = nn.Sequential(*down, nn.Flatten(), mlp([n_flat, _DENSE, n_code]))
    decoder = nn.Sequential(mlp([n_code, _DENSE, n_flat]), nn.ReLU(), *up[:-2], nn.Flatten())
    return encoder, decoder


# (channels, stride) of the three 3 x 3 convolutions of SSCNet, section 7.1.4; the paper is silent on the strides
_MAPS = ((32, 2), (64, 2), (128, 1))


def conv_maps(image_shape: Sequence[int]) -> tuple[nn.Module, nn.Module, int]:
    """Return the convolutions of SSCNet (7.1.4), their mirror, and the number of values of all maps between them.

    Examples
    --------
    >>> encoder, decoder, width = conv_maps((28, 28))
    >>> width, decoder(encoder(torch.zeros(2, 784))).shape
    (6272, torch.Size([2, 784]))
    """
    down, up, n_flat = _mirrored_convolutions(image_shape, _MAPS, normalise=False)
    return nn.Sequential(*down[:-1], nn.Flatten()), nn.Sequential(*up[:-1], nn.Flatten()), n_flat


def _mirrored_convolutions(
    image_shape: Sequence[int], layers: Sequence[tuple[int, int]], *, normalise: bool
) -> tuple[list[nn.Module], list[nn.Module], int]:
    """Return 3 x 3 convolutions with activations, the mirrored ones, and the number of values between them."""
    sizes = [as_image_shape(image_shape)]

    def activation(channels: int) -> list[nn.Module]:
        return [nn.BatchNorm2d(channels), nn.ReLU()] if normalise else [nn.ReLU()]

    down: list[nn.Module] = [nn.Unflatten(1, sizes[0])]
    for channels, stride in layers:
        before, height, width = sizes[-1]
        down += [nn.Conv2d(before, channels, 3, stride, 1), *activation(channels)]
        sizes.append((channels, (height - 1) // stride + 1, (width - 1) // stride + 1))
    up: list[nn.Module] = [nn.Unflatten(1, sizes[-1])]
    for (_, stride), target, source in zip(layers[::-1], sizes[-2::-1], sizes[:0:-1], strict=True):
        up += [_upsampling(source, target, stride), *activation(target[0])]
    return down, up, math.prod(sizes[-1])


def as_image_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return (channels, height, width) from two or three sizes.

    Examples
    --------
    >>> as_image_shape((8, 8))
    (1, 8, 8)
    """
    sizes = tuple(int(size) for size in shape)
    if len(sizes) == 2:
        sizes = (1, *sizes)
    if len(sizes) != 3 or min(sizes) < 1:
        raise InputError(
            f"image_shape={tuple(shape)} is not (height, width) or (channels, height, width) with positive sizes."
        )
    return sizes[0], sizes[1], sizes[2]


def _upsampling(source: tuple[int, int, int], target: tuple[int, int, int], stride: int) -> nn.Module:
    if stride == 1:
        return nn.Conv2d(source[0], target[0], 3, 1, 1)
    # An even target needs one row more than the transposed convolution returns.
    padding = (1 - target[1] % 2, 1 - target[2] % 2)
    return nn.ConvTranspose2d(source[0], target[0], 3, stride, 1, output_padding=padding)


@torch.no_grad()
def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw all weights by Xavier's uniform rule from a local generator; biases become zero.

    Examples
    --------
    >>> layer = nn.Linear(2, 2)
    >>> initialise(layer, torch.Generator().manual_seed(0))
    >>> layer.bias
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """
    for part in module.modules():
        if isinstance(part, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.xavier_uniform_(part.weight, generator=generator)
            if part.bias is not None:
                part.bias.zero_()


def check_code(encoder: nn.Module, n_features: int, n_code: int) -> None:
    """Check that a user's encoder maps (b, D) to (b, d)."""
    was_training = encoder.training
    encoder.eval()
    device = next((weights.device for weights in encoder.parameters()), torch.device("cpu"))
    try:
        with torch.no_grad(), device:  # also on the meta device
            code: Tensor = encoder(torch.zeros(2, n_features))
    except RuntimeError as error:
        raise InputError(f"encoder cannot take rows of {n_features} features: {error}") from error
    finally:
        encoder.train(was_training)
    if tuple(code.shape) != (2, n_code):
        raise InputError(
            f"encoder gives codes of shape {tuple(code.shape)} for 2 rows; it must give (2, {n_code})."
        )
