"""A module's tensors as named arrays, and back: what a saved model holds of a network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from coterie.store import below


def module_arrays(prefix: str, module: nn.Module) -> dict[str, np.ndarray]:
    """Return the parameters and buffers of a module by name, each name behind the prefix.

    Examples
    --------
    >>> sorted(module_arrays("map.", nn.Linear(2, 1)))
    ['map.bias', 'map.weight']
    """
    return {prefix + name: tensor.cpu().numpy() for name, tensor in module.state_dict().items()}


def load_arrays(prefix: str, module: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Take back what `module_arrays` gave.

    Examples
    --------
    >>> one, other = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> load_arrays("map.", other, module_arrays("map.", one))
    >>> torch.equal(one.weight, other.weight)
    True
    """
    module.load_state_dict({name: torch.from_numpy(array) for name, array in below(prefix, arrays).items()})
