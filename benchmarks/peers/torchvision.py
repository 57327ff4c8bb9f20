"""A stand-in for torchvision, which clustpy imports and does not use here: there is no build for a CPU's torch."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Empty(ModuleType):
    """A module in which every name is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def stand_in() -> None:
    """Answer imports of torchvision in this process with empty modules."""
    for name in ("", ".datasets", ".models", ".models._api", ".transforms"):
        sys.modules.setdefault(f"torchvision{name}", _Empty(f"torchvision{name}"))
