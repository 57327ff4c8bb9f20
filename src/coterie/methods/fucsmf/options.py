"""Options of FUCSMF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coterie.methods.options import Options, option
from coterie.methods.params import either, flag, one_of, real, whole

_STIFFNESS = 0.3


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
    adaptation : {"anchored", "printed"}, default="anchored"
        Whether weights stay near the initial ones, labelled rows keep theirs and the whole objective must fall; or
        each round is that of the paper, Eq. 28 for all rows of one view, until no label changes.
    coupling : float or "auto", default="auto"
        Weight of the classes next to the distances in the adaptation; ``"auto"`` is 1 + 2 / `smoothness`, which
        follows from the objective, and the authors' code has 0.005.
    gamma : float or "auto", default="auto"
        Spread of a row's weights (Eq. 28): smaller is sparser. ``"auto"`` is the smallest with which all its anchors
        have a weight, and 0.3 in the adaptation.
    sigma : float, "rows" or "auto", default="auto"
        Width of the correntropy-induced distance (Eq. 25), in units of the compared rows; ``"rows"`` is one for each
        row, as in the authors' code; ``"auto"`` is from the median distance.
    n_axes : "auto" or None, default="auto"
        Whether rows are compared along those principal axes where neighbours agree most, or by all columns (None,
        which needs a `metric`).
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
    adaptation: str = option("anchored", one_of("anchored", "printed"))
    coupling: float | str = option("auto", either(one_of("auto"), real(0)))
    gamma: float | str = option("auto", either(one_of("auto"), real(0, above=True)))
    sigma: float | str = option("auto", either(one_of("auto", "rows"), real(0, above=True)))
    n_axes: str | None = option("auto", one_of("auto", None))
    hard_links: bool = option(True, flag())
    link_weight: float | str = option("auto", either(one_of("auto"), real(0)))
    tol: float = option(1e-6, real(0))
    max_iter: int = option(1000, whole(1))

    @property
    def mu(self) -> float:
        """The link weight in effect."""
        return 0.1 * self.smoothness if self.link_weight == "auto" else float(self.link_weight)

    @property
    def stiffness(self) -> float:
        """The gamma of the adaptation."""
        return _STIFFNESS if isinstance(self.gamma, str) else self.gamma

    @property
    def pull(self) -> float:
        """What the squared distance of class scores takes from a weight in the adaptation."""
        usual = 1 + 2 / max(self.smoothness, 1e-12)
        return (usual if isinstance(self.coupling, str) else self.coupling) / (2 * self.stiffness)


PRESETS: Mapping[str | None, Mapping[str, Any]] = {
    None: {"n_nearest": 8},
    # Section 4.2 and Algorithm 1: k-means anchors, 2,000 of them on most sets, lambda 100, labels of weight one, five
    # outer iterations (Figs. 13 to 15). The values of gamma and sigma are lost in our copy. These are from its
    # authors' code (spec 6), which divides by 0.8 / 2 where Eq. 28 divides by 2 gamma; so are five anchors a row and
    # rows as they are.
    "paper": {
        "scale": "none",
        "metric": "euclidean",
        "anchors": "kmeans",
        "n_anchors": 2000,
        "n_nearest": 5,
        "options": FUCSMFOptions(
            smoothness=100.0,
            label_scale="one",
            adapt=5,
            adaptation="printed",
            gamma=0.2,
            sigma="rows",
            n_axes=None,
        ),
    },
}
