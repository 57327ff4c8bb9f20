"""Options of FUCSMF."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.methods.fucsmf.problem import SCALES
from coterie.methods.options import Options, option
from coterie.methods.params import either, flag, one_of, real, whole


@dataclass(frozen=True, kw_only=True, repr=False)
class FUCSMFOptions(Options):
    """What the paper names, and what we add to it, for ``FUCSMF(options=FUCSMFOptions(smoothness=100))``.

    Parameters
    ----------
    smoothness : float, default=1000.0
        Weight lambda of the graph's smoothness; the paper's is 100.
    label_scale : {"balanced", "one"}, default="balanced"
        Whether the labelled rows of each class weigh the same together, or each of them counts one.
    adapt : int, default=0
        How often the graph is adapted to the classes found and solved again, at most.
    hard_links : bool, default=True
        Whether rows that must be together are exactly together, or only drawn to each other.
    link_weight : float or "auto", default="auto"
        Weight mu of a soft link; ``"auto"`` is a tenth of `smoothness`.
    tol : float, default=1e-6
        The solve ends when the norm of the gradient is at most this share of what it is at zero.
    max_iter : int, default=1000
        Most steps of the solve.
    """

    smoothness: float = option(1000.0, real(0))
    label_scale: str = option("balanced", one_of(*SCALES))
    adapt: int = option(0, whole(0))
    hard_links: bool = option(True, flag())
    link_weight: float | str = option("auto", either(one_of("auto"), real(0)))
    tol: float = option(1e-6, real(0))
    max_iter: int = option(1000, whole(1))
