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
    kinds = {name: tensor.dtype for name, tensor in module.state_dict().items()}
    found = {name: torch.from_numpy(array) for name, array in below(prefix, arrays).items()}
    # Assigned, not copied: what `unfilled` made has no memory to copy to.
    module.load_state_dict(
        {name: one.to(kinds.get(name, one.dtype)) for name, one in found.items()}, assign=True
    )


def unfilled() -> torch.device:
    """Return a context in which modules are made without memory for their tensors, which `load_arrays` brings.

    So a file whose parameters ask for a network of any size takes no more memory than its tensors.

    Examples
    --------
    >>> with unfilled():
    ...     layer = nn.Linear(10**6, 10**6)
    >>> layer.weight.device
    device(type='meta')
    """
    return torch.device("meta")
