"""The device of tensors, and the number of threads."""

from __future__ import annotations

import torch

from coterie.errors import InputError


def resolve_device(device: str | torch.device) -> torch.device:
    """Return the device a name stands for; "auto" is a GPU where there is one with double precision.

    Sums over rows are taken in double precision, which Apple's GPUs do not have.

    Examples
    --------
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if str(device) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen, dtype=torch.float64)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"device={str(device)!r} cannot be used on this machine; use 'auto' or 'cpu' ({reason})."
        ) from error
    return chosen
