"""Tensors of a module as named arrays, for saved models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from coterie.store import below


def module_arrays(prefix: str, module: nn.Module) -> dict[str, np.ndarray]:
    """Return the parameters and buffers of a module by name, with a prefix.

    Examples
    --------
    >>> sorted(module_arrays("map.", nn.Linear(2, 1)))
    ['map.bias', 'map.weight']
    """
    return {prefix + name: tensor.cpu().numpy() for name, tensor in module.state_dict().items()}


def load_arrays(prefix: str, module: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Load what `module_arrays` returned.

    Examples
    --------
    >>> saved, loaded = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> load_arrays("map.", loaded, module_arrays("map.", saved))
    >>> torch.equal(saved.weight, loaded.weight)
    True
    """
    dtypes = {name: tensor.dtype for name, tensor in module.state_dict().items()}
    tensors = {
        name: torch.from_numpy(array).to(dtypes.get(name)) for name, array in below(prefix, arrays).items()
    }
    module.load_state_dict(tensors, assign=True)  # tensors on the meta device have no memory to copy to


def unfilled() -> torch.device:
    """Return the meta device as a context: modules made in it have no memory until `load_arrays`.

    So a file that claims a huge network takes no more memory than the tensors it holds.

    Examples
    --------
    >>> with unfilled():
    ...     layer = nn.Linear(10**6, 10**6)
    >>> layer.weight.device
    device(type='meta')
    """
    return torch.device("meta")
