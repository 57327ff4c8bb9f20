"""Options of FUCSMF."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.methods.options import Options, option
from coterie.methods.params import either, flag, one_of, real, whole


@dataclass(frozen=True, kw_only=True, repr=False)
class FUCSMFOptions(Options):
    """Parameters of the paper and of the solver, for ``FUCSMF(options=FUCSMFOptions(smoothness=100))``.

    Parameters
    ----------
    smoothness : float, default=1000.0
        Weight lambda of the graph's smoothness; the paper's is 100.
    label_scale : {"balanced", "one"}, default="balanced"
        Whether the labelled rows of each class have the same total weight, or each of them has weight 1.
    adapt : int, default=0
        Most rounds in which the graph is adapted to the classes and solved again.
    hard_links : bool, default=True
        Whether must-links are hard constraints or, as cannot-links, penalties.
    link_weight : float or "auto", default="auto"
        Weight mu of a link that is a penalty; ``"auto"`` is a tenth of `smoothness`.
    tol : float, default=1e-6
        The solve ends when the norm of the gradient is at most this share of its norm at zero.
    max_iter : int, default=1000
        Most steps of the solve.
    """

    smoothness: float = option(1000.0, real(0))
    label_scale: str = option("balanced", one_of("balanced", "one"))
    adapt: int = option(0, whole(0))
    hard_links: bool = option(True, flag())
    link_weight: float | str = option("auto", either(one_of("auto"), real(0)))
    tol: float = option(1e-6, real(0))
    max_iter: int = option(1000, whole(1))

    @property
    def mu(self) -> float:
        """The link weight in effect."""
        return 0.1 * self.smoothness if self.link_weight == "auto" else float(self.link_weight)
