import pytest
import torch
from torch import nn

from coterie.errors import InputError
from coterie.nn.autoencoder import as_image_shape, check_code, conv_pair, initialise, mlp_pair


def test_the_mlp_decoder_mirrors_the_encoder():
    encoder, decoder = mlp_pair(7, (5, 4), 2)
    widths = [(part.in_features, part.out_features) for part in encoder if isinstance(part, nn.Linear)]
    mirrored = [(part.out_features, part.in_features) for part in decoder if isinstance(part, nn.Linear)]
    assert widths == [(7, 5), (5, 4), (4, 2)]
    assert mirrored == widths[::-1]
    assert isinstance(encoder[-1], nn.Linear)
    assert isinstance(decoder[-1], nn.Linear)


@pytest.mark.parametrize("shape", [(28, 28), (3, 55, 55), (8, 8), (1, 7, 10)])
def test_the_convolutional_pair_returns_to_the_size_it_was_given(shape):
    n_features = as_image_shape(shape)[0] * as_image_shape(shape)[1] * as_image_shape(shape)[2]
    encoder, decoder = conv_pair(shape, 10)
    codes = encoder(torch.rand(3, n_features))
    assert codes.shape == (3, 10)
    assert decoder(codes).shape == (3, n_features)


def test_the_convolutional_encoder_has_the_layers_of_the_paper():
    encoder, _ = conv_pair((28, 28), 10)
    convolutions = [part for part in encoder if isinstance(part, nn.Conv2d)]
    assert [(c.out_channels, c.stride[0]) for c in convolutions] == [(16, 1), (32, 2), (32, 1), (16, 2)]
    dense = [part for part in encoder[-1] if isinstance(part, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in dense] == [(16 * 7 * 7, 256), (256, 10)]


def test_weights_come_from_the_given_generator_within_xaviers_bound():
    first, second = (mlp_pair(6, (4,), 2)[0] for _ in range(2))
    before = torch.get_rng_state()
    for module in (first, second):
        initialise(module, torch.Generator().manual_seed(3))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first[0].weight, second[0].weight)
    assert first[0].weight.abs().max() <= (6 / 10) ** 0.5
    assert first[0].weight.std() > 0.3
    assert not first[0].bias.any()


@pytest.mark.parametrize("shape", [(8,), (0, 8), (1, 2, 3, 4)])
def test_a_shape_that_is_no_image_is_an_error(shape):
    with pytest.raises(InputError, match="is not \\(height, width\\)"):
        as_image_shape(shape)


def test_an_encoder_of_the_wrong_size_is_named():
    with pytest.raises(InputError, match=r"gives codes of shape \(2, 3\) for 2 rows; it must give \(2, 5\)"):
        check_code(nn.Linear(4, 3), 4, 5)
    with pytest.raises(InputError, match="encoder cannot take rows of 9 features"):
        check_code(nn.Linear(4, 3), 9, 3)
