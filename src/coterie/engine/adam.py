"""Adam without `torch.optim.Optimizer`, whose first instance imports torch's compiler: a second of every process."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam

_MEAN, _SQUARE, _STEP = "exp_avg", "exp_avg_sq", "step"


class Adam:
    """Adam (Kingma and Ba 2015, Algorithm 1) by torch's fused kernel; the steps of ``torch.optim.Adam(fused=True)``.

    Parameters
    ----------
    rate : float
        The learning rate, which may be changed between steps.

    Examples
    --------
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([x], rate=0.1)
    >>> x.square().sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.9000])
    """

    def __init__(self, parameters: Iterable[Tensor], rate: float) -> None:
        self.parameters, self.rate = list(parameters), rate
        self._slots: dict[int, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters that have a gradient."""
        moved = [index for index, parameter in enumerate(self.parameters) if parameter.grad is not None]
        for index in moved:
            if index not in self._slots:
                self._slots[index] = _fresh(self.parameters[index])
        slots = [self._slots[index] for index in moved]
        adam(
            [self.parameters[index] for index in moved],
            [grad for index in moved if (grad := self.parameters[index].grad) is not None],
            [slot[_MEAN] for slot in slots],
            [slot[_SQUARE] for slot in slots],
            [],
            [slot[_STEP] for slot in slots],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    def state(self) -> dict[str, Tensor]:
        """Return the moments and the number of steps of each parameter that was moved, by its place."""
        return {
            f"{index}.{name}": tensor for index, slot in self._slots.items() for name, tensor in slot.items()
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` returned."""
        slots: dict[int, dict[str, Tensor]] = {}
        for key, tensor in state.items():
            index, name = key.split(".", 1)
            parameter = self.parameters[int(index)]
            if tensor.shape != (() if name == _STEP else parameter.shape):
                raise ValueError(f"{key} has shape {tuple(tensor.shape)}")
            slots.setdefault(int(index), {})[name] = tensor.to(parameter.device, torch.float32)
        if any(set(slot) != {_MEAN, _SQUARE, _STEP} for slot in slots.values()):
            raise ValueError("parts of the optimizer's state are missing")
        self._slots = slots


def _fresh(parameter: Tensor) -> dict[str, Tensor]:
    mean, square = torch.zeros_like(parameter), torch.zeros_like(parameter)
    return {_STEP: torch.zeros((), device=parameter.device), _MEAN: mean, _SQUARE: square}
