"""The neighbours among a sample of rows, whatever the views."""

# b rows of the sample

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from coterie.data import Views, autoscale
from coterie.data.subsets import some_rows
from coterie.methods.several.beside import Beside
from coterie.methods.several.guard import scaled_rows
from coterie.methods.several.joined import join_views
from coterie.methods.several.sample import draw_sample, fit_scaler
from coterie.nn.metric import MetricSpace, fit_metric
from coterie.ops.pca import principal_axes

_NEIGHBOURS = 10


class Neighbourhood:
    """A sample of rows, ready to be compared: at most `most` of them, drawn evenly.

    One view is compared as `PCX` and `SSCNet` do, several as `LargeMvCNet` and `MVSIB` do: by the scalings under
    which they agree most, in each view and side by side. Only the rows of the sample are held in memory.

    Parameters
    ----------
    data : Views
        Checked.
    most : int
    seed : int

    Examples
    --------
    >>> from coterie.data import as_views
    >>> near = Neighbourhood(as_views(np.arange(40.0)[:, None]), 20, seed=0)
    >>> near.graph(np.arange(12)).shape
    (12, 12)
    """

    def __init__(self, data: Views, most: int, seed: int) -> None:
        sample = data.select(some_rows(data.n_rows, most, seed))
        self.n_rows = sample.n_rows
        self._generator = torch.Generator().manual_seed(seed)
        self._together: Tensor | None = None
        if data.n_views == 1:
            self._views = [self._compared(sample)]
            self._sound = np.ones((self.n_rows, 1), dtype=bool)
            self._complete = self._sound[:, 0]
            return
        drawn = draw_sample(sample, guard=True, seed=seed, generator=self._generator)
        scaler = fit_scaler(drawn, "auto", data.names, self._k(self.n_rows), self._generator)
        self._sound, self._complete = drawn.sound, drawn.complete
        self._views = scaled_rows(scaler, drawn.blocks, drawn.sound)
        beside = Beside([view.shape[1] for view in self._views])
        self._together = beside.fit(self._views, torch.from_numpy(drawn.sound)).table(self._views)

    def graph(self, rows: np.ndarray) -> sparse.csr_matrix:
        """Return the symmetric graph of nearest neighbours among some rows of the sample, (b, b).

        A row has ten neighbours among all of them and five among half of them: as far away in either graph.
        """
        chosen = torch.from_numpy(rows)
        return join_views(
            [view[chosen] for view in self._views],
            self._sound[rows],
            together=None if self._together is None else self._together[chosen],
            complete=self._complete[rows],
            n_neighbors=self._k(len(rows)),
            generator=self._generator,
        ).graph

    def _compared(self, sample: Views) -> Tensor:
        """Return the rows of one view where Euclidean distance is the distance that is meant."""
        scaled = autoscale.fit_scaler(sample, "auto").transform(sample.read(np.arange(sample.n_rows)))
        rows = torch.from_numpy(scaled[0])
        metric = fit_metric(rows, "auto", self._k(len(rows)), self._generator)
        seen = MetricSpace(metric.kind, rows.shape[1]).fit(rows)(rows)
        return seen @ principal_axes(seen, metric.n_axes, generator=self._generator)

    def _k(self, n_rows: int) -> int:
        """Return how many neighbours a row has among so many rows of the sample."""
        return max(1, min(round(_NEIGHBOURS * n_rows / self.n_rows), n_rows - 1))
