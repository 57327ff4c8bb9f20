"""Whether new rows are like those of a fit: rows far from all of them, sizes of clusters, a possible new group.

The same for every method: rows are compared with a sample of the fitted ones, in the scaled columns.
"""

# n rows, v views, d columns of all views, m sampled rows of the fit, k clusters, f far rows that are kept

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from coterie.data import Scaler, Views
from coterie.data.subsets import some_rows
from coterie.graph.model import outlier_ratio
from coterie.graph.neighbours import NeighbourIndex, neighbours_of_each
from coterie.graph.scaling import fit_table_scaler
from coterie.ops.array_builder import ArrayBuilder
from coterie.store import below

FAR = 0.01
"""The share of fitted rows that count as far from all others."""
LOW = 0.05
"""The share of fitted rows whose confidence counts as low."""

_SAMPLED, _LEAST_SAMPLED, _SAMPLED_VALUES = 2000, 200, 2**22
_NEIGHBOURS = 10
_KEPT = 200
_POOLED = 1000
_KIND = "rows of a fit"
_ARRAYS = ("present", "means", "spreads", "cuts", "sizes")


@dataclass(frozen=True)
class Reference:
    """What is remembered of the rows of a fit.

    Attributes
    ----------
    scaler : Scaler
    rows : list of ndarray (m, d_v)
        A sample of the rows, scaled; zeros where a view is missing.
    present : ndarray of bool (m, v)
    means : ndarray of shape (k + 1, d)
        Of the columns in each cluster of the sample; in the last, where outliers are, of all rows.
    spreads : ndarray of shape (d,)
        Standard deviations of the columns inside clusters.
    columns : list of str
        Their names.
    cuts : ndarray of shape (v,)
        The outlier score that the share `FAR` of the fitted rows exceeds, for rows that have so many views.
    low : float
        The confidence below which the share `LOW` of the fitted rows lies.
    sizes : ndarray of shape (k + 1,)
        Rows of each cluster in the fit; the last are outliers.
    """

    scaler: Scaler
    rows: list[np.ndarray]
    present: np.ndarray
    means: np.ndarray
    spreads: np.ndarray
    columns: list[str]
    cuts: np.ndarray
    low: float
    sizes: np.ndarray

    @classmethod
    def of(cls, data: Views, labels: np.ndarray, confidence: np.ndarray, n_clusters: int) -> Reference:
        """Sample the rows of a fit.

        Examples
        --------
        >>> from coterie.data import as_views
        >>> rows = np.random.default_rng(0).normal(size=(300, 2))
        >>> reference = Reference.of(as_views(rows), np.zeros(300, dtype=int), np.ones(300), 1)
        >>> seen = reference.observe(as_views(rows + 9), np.zeros(300, dtype=int), np.ones(300))
        >>> reference.report([seen])["far"]["share"]
        1.0
        """
        chosen = some_rows(data.n_rows, sample_rows(data.n_rows, sum(data.dims)), seed=0)
        sample = data.select(chosen)
        blocks, present = sample.read(slice(None)), sample.present_rows(slice(None))
        scaler = fit_table_scaler(sample, "auto")
        rows = scaler.transform(blocks, present)
        cuts = _cuts(_Scorer(rows, present).own_scores())
        means, spreads = _moments(blocks, present, labels[chosen], n_clusters)
        return cls(
            scaler,
            rows,
            present,
            means,
            spreads,
            _column_names(data),
            cuts,
            float(np.quantile(confidence, LOW)),
            _sizes(labels, n_clusters),
        )

    def observe(
        self, data: Views, labels: np.ndarray, confidence: np.ndarray, identifiers: np.ndarray | None = None
    ) -> Seen:
        """Return what a report needs to know of some labelled rows."""
        scorer = _Scorer(self.rows, self.present)
        is_far = ArrayBuilder()
        sums, counts = np.zeros((2, len(self.spreads))), np.zeros((2, len(self.spreads)))
        for rows in data.chunks():
            blocks, present = data.read(rows), data.present_rows(rows)
            scores = scorer.scores(self.scaler.transform(blocks, present), present)
            far_here = scores > self.cuts[present.sum(axis=1) - 1]
            is_far.add(far_here)
            there = np.repeat(present, data.dims, axis=1)
            moves = np.where(there, np.concatenate(blocks, axis=1) - self.means[labels[rows]], 0)
            for i, some in enumerate((~far_here, np.ones_like(far_here))):
                sums[i] += moves[some].sum(axis=0)
                counts[i] += there[some].sum(axis=0)
        far = np.flatnonzero(is_far.joined())
        kept = far[some_rows(len(far), _KEPT, seed=0)]
        sample = data.select(kept)
        blocks, present = sample.read(slice(None)), sample.present_rows(slice(None))
        return Seen(
            n_rows=data.n_rows,
            n_far=len(far),
            n_low=int((confidence < self.low).sum()),
            sizes=_sizes(labels, len(self.sizes) - 1),
            sums=sums,
            counts=counts,
            far=np.concatenate(self.scaler.transform(blocks, present), axis=1),
            far_rows=kept,
            far_names=[] if identifiers is None else [str(name) for name in identifiers[kept]],
        )

    def report(self, seen: Sequence[Seen], sources: Sequence[str] = ()) -> dict[str, Any]:
        """Say whether rows are like those of the fit.

        Parameters
        ----------
        seen : sequence of Seen
            One for each part of the rows.
        sources : sequence of str, optional
            Where each part came from, for the exemplars of a new group.

        Returns
        -------
        dict
            Of values that JSON can hold: `rows`, `drift` (whether there is any), `sentences`, `far`,
            `low_confidence`, `sizes`, `columns` (those that moved most inside clusters) and `new_groups`.
        """
        n_rows = sum(part.n_rows for part in seen)
        far, low = (sum(getattr(part, name) for part in seen) for name in ("n_far", "n_low"))
        sizes = np.sum([part.sizes for part in seen], axis=0)
        many_far = self._more(far, n_rows, FAR)
        most_far = far > n_rows / 2
        columns = self._moved_columns(seen, all_rows=most_far) if many_far else []
        groups = self._new_groups(seen, sources, n_rows) if many_far and not (columns or most_far) else []
        found = {
            "rows": n_rows,
            "far": {"rows": far, "share": far / n_rows, "expected": FAR},
            "low_confidence": {"rows": low, "share": low / n_rows, "expected": LOW},
            "sizes": self._compared_sizes(sizes),
            "columns": columns,
            "new_groups": groups,
        }
        sentences = self._sentences(found, many_far)
        return {"drift": bool(sentences), "sentences": sentences, **found}

    def _more(self, count: int, n_rows: int, expected: float) -> bool:
        """Whether a share is three times what it was in the fit, and more than chance makes of it."""
        noise = np.sqrt(expected * (1 - expected) * (1 / n_rows + 1 / len(self.present)))
        return count / n_rows > max(3 * expected, expected + 4 * noise)

    def _compared_sizes(self, sizes: np.ndarray) -> list[dict[str, Any]]:
        """Return the share of each cluster in the fit and now, and whether it changed."""
        before, now = self.sizes / self.sizes.sum(), sizes / sizes.sum()
        noise = np.sqrt(before * (1 - before) * (1 / self.sizes.sum() + 1 / sizes.sum()))
        halved = np.maximum(before, now) > 2 * np.minimum(before, now)
        changed = (halved | (abs(now - before) > 0.1)) & (abs(now - before) > 4 * noise)
        clusters = [*range(len(before) - 1), -1]
        return [
            {"cluster": c, "rows": int(n), "share": float(p), "in_fit": float(q), "changed": bool(yes)}
            for c, n, p, q, yes in zip(clusters, sizes, now, before, changed, strict=True)
            if c >= 0 or n or q
        ]

    def _moved_columns(self, seen: Sequence[Seen], *, all_rows: bool) -> list[dict[str, Any]]:
        """Return the columns that moved most from the means of their clusters, at least by half a deviation.

        Rows that are far do not count, unless most are: a new group is no shift of the others.
        """
        counts = np.sum([part.counts for part in seen], axis=0)[int(all_rows)]
        sums = np.sum([part.sums for part in seen], axis=0)[int(all_rows)]
        moves = sums / np.maximum(counts, 1) / self.spreads
        largest = np.argsort(-abs(moves), kind="stable")[:3]
        return [
            {
                "column": self.columns[j],
                "deviations": float(moves[j]),
            }
            for j in largest
            if abs(moves[j]) > 0.5
        ]

    def _new_groups(self, seen: Sequence[Seen], sources: Sequence[str], n_rows: int) -> list[dict[str, Any]]:
        """Return groups among the far rows: rows that are nearer to each other than to any fitted row.

        A group holds at least a hundredth of the rows, and ten of those looked at.
        """
        picked = [some_rows(len(part.far_rows), max(10, _POOLED // len(seen)), seed=0) for part in seen]
        rows = np.concatenate([part.far[i] for part, i in zip(seen, picked, strict=True)])
        weights = np.concatenate(
            [np.full(len(i), part.n_far / max(1, len(i))) for part, i in zip(seen, picked, strict=True)]
        )
        origin = [(p, int(i)) for p, chosen in enumerate(picked) for i in chosen]
        fitted = NeighbourIndex(np.concatenate(self.rows, axis=1)).search(rows, 1).distances
        apart = _distances(rows)
        near = apart < fitted
        left = np.ones(len(rows), dtype=bool)
        groups: list[dict[str, Any]] = []
        while len(groups) < 3 and left.any():
            inside = near & left & left[:, None]
            centre = int((inside @ weights).argmax())
            members = np.flatnonzero(inside[centre])
            if len(members) < 10 or weights[members].sum() < 0.01 * n_rows:
                break
            exemplars = members[np.argsort(apart[centre, members], kind="stable")[:5]]
            groups.append(
                {
                    "rows": round(float(weights[members].sum())),
                    "exemplars": [_place(seen, sources, *origin[i]) for i in exemplars],
                }
            )
            left[members] = False
        return groups

    def _sentences(self, found: Mapping[str, Any], many_far: bool) -> list[str]:
        said = []
        if many_far:
            share = f"{found['far']['share']:.1%}"
            said.append(f"{share} of the rows are far from every row of the fit ({FAR:.0%} were).")
        if found["columns"]:
            moves = [f"{column['column']} by {column['deviations']:+.1f}" for column in found["columns"]]
            said.append(f"Columns that moved, in standard deviations inside a cluster: {', '.join(moves)}.")
        for group in found["new_groups"]:
            names = ", ".join(str(row.get("id", row["row"])) + _of(row) for row in group["exemplars"])
            said.append(f"A possible new group of about {group['rows']:,} rows, such as rows {names}.")
        if self._more(found["low_confidence"]["rows"], found["rows"], LOW):
            share = f"{found['low_confidence']['share']:.1%}"
            said.append(f"{share} of the rows have a low confidence ({LOW:.0%} had).")
        for size in found["sizes"]:
            if size["changed"]:
                whose = "Outliers are" if size["cluster"] < 0 else f"Cluster {size['cluster']} has"
                said.append(f"{whose} {size['share']:.1%} of the rows ({size['in_fit']:.1%} in the fit).")
        return said

    # Saving

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything as JSON values and arrays."""
        arrays = {f"rows{v}": rows for v, rows in enumerate(self.rows)}
        arrays |= {f"scaler.{name}": array for name, array in self.scaler.state().items()}
        arrays |= {name: getattr(self, name) for name in _ARRAYS}
        modes = list(self.scaler.modes_)
        return {
            "kind": _KIND,
            "scale": modes,
            "columns": self.columns,
            "low": self.low,
        }, arrays

    @classmethod
    def from_contents(cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Reference:
        """Take back what `contents` gave."""
        scaler = Scaler.from_state(values["scale"], below("scaler.", arrays))
        return cls(
            scaler,
            [arrays[f"rows{v}"] for v in range(len(values["scale"]))],
            columns=list(values["columns"]),
            low=float(values["low"]),
            **{name: arrays[name] for name in _ARRAYS},
        )


@dataclass(frozen=True)
class Seen:
    """What a report needs to know of some labelled rows: counts, sums, and a sample of the far rows.

    Attributes
    ----------
    n_rows, n_far, n_low : int
        All rows, those far from every fitted row, and those of low confidence.
    sizes : ndarray of shape (k + 1,)
    sums, counts : ndarray of shape (2, d)
        Of the columns, less the means of the rows' clusters, and how many rows have them; of near rows and of all.
    far : ndarray of shape (f, d)
        Far rows, scaled.
    far_rows : ndarray of shape (f,)
        Their numbers.
    far_names : list of str
        Their identifiers; empty where there are none.
    """

    n_rows: int
    n_far: int
    n_low: int
    sizes: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    far: np.ndarray
    far_rows: np.ndarray
    far_names: list[str]

    @classmethod
    def from_contents(cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Seen:
        """Take back what `contents` gave."""
        return cls(**{field.name: {**values, **arrays}[field.name] for field in fields(cls)})

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything as JSON values and arrays."""
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return {name: value for name, value in vars(self).items() if name not in arrays}, arrays


def sample_rows(n_rows: int, n_columns: int) -> int:
    """Return how many rows of a fit are remembered.

    Examples
    --------
    >>> sample_rows(150, 4), sample_rows(10**6, 64), sample_rows(10**6, 10**5)
    (150, 2000, 200)
    """
    return min(n_rows, int(np.clip(_SAMPLED_VALUES // n_columns, _LEAST_SAMPLED, _SAMPLED)))


class _Scorer:
    """Outlier scores of rows against a sample: the mean of those in the views that a row has."""

    def __init__(self, rows: Sequence[np.ndarray], present: np.ndarray) -> None:
        self.present = present
        self._found = [
            neighbours_of_each(block[there], _NEIGHBOURS) if there.sum() > 1 else None
            for block, there in zip(rows, present.T, strict=True)
        ]
        self._spread = [None if found is None else found[1].distances.mean(axis=1) for found in self._found]

    def own_scores(self) -> np.ndarray:
        """Return the scores of the sampled rows in each view, (m, v), against the others; NaN for a missing view."""
        scores = np.full(self.present.shape, np.nan)
        for v, (found, spread) in enumerate(zip(self._found, self._spread, strict=True)):
            if found is not None and spread is not None:
                scores[self.present[:, v], v] = outlier_ratio(found[1].distances, spread[found[1].indices])
        return scores

    def scores(self, rows: Sequence[np.ndarray], present: np.ndarray) -> np.ndarray:
        """Return the scores of new rows, (n,)."""
        totals = np.zeros(len(present))
        for block, found, spread, there in zip(rows, self._found, self._spread, present.T, strict=True):
            if found is not None and spread is not None and there.any():
                near = found[0].search(block[there], _NEIGHBOURS)
                totals[there] += outlier_ratio(near.distances, spread[near.indices])
        return totals / np.maximum(present.sum(axis=1), 1)


def _cuts(scores: np.ndarray) -> np.ndarray:
    """Return the score that the share `FAR` exceeds, (v,), of rows that have one view, two views, and so on.

    A mean of fewer views varies more; so a row is judged by rows of which as many views, drawn at random, count.
    """
    order = np.argsort(np.where(np.isnan(scores), 1, np.random.default_rng(0).random(scores.shape)), axis=1)
    means = np.take_along_axis(scores, order, 1).cumsum(axis=1) / np.arange(1, scores.shape[1] + 1)
    known = [column[~np.isnan(column)] for column in means.T]
    return np.array([np.quantile(column, 1 - FAR) if len(column) else np.inf for column in known])


def _moments(
    blocks: Sequence[np.ndarray], present: np.ndarray, labels: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of the columns in each cluster and of all rows, and their deviations inside clusters."""
    table = np.concatenate(blocks, axis=1).astype(np.float64)
    there = np.repeat(present, [block.shape[1] for block in blocks], axis=1)
    groups = [labels == cluster for cluster in range(n_clusters)] + [np.ones(len(table), dtype=bool)]
    overall = table.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    means = np.stack([_mean(table[own], there[own], overall) for own in groups])
    moves = np.where(there, table - means[labels], 0)
    spread = np.sqrt(np.square(moves).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
    return means, np.where(spread > 0, spread, np.inf)


def _mean(table: np.ndarray, there: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    counts = there.sum(axis=0)
    return np.where(counts > 0, table.sum(axis=0) / np.maximum(counts, 1), otherwise)


def _column_names(data: Views) -> list[str]:
    several = data.n_views > 1
    return [
        (f"{view}: " if several else "") + str(names[j] if names is not None else f"column {j}")
        for view, names, width in zip(data.names, data.feature_names, data.dims, strict=True)
        for j in range(width)
    ]


def _sizes(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    return np.bincount(np.where(labels < 0, n_clusters, labels), minlength=n_clusters + 1)


def _distances(rows: np.ndarray) -> np.ndarray:
    """Return the distances of all pairs, (f, f)."""
    rows = rows - rows.mean(axis=0)
    lengths = np.einsum("id,id->i", rows, rows)
    squares = lengths[:, None] + lengths - 2 * rows @ rows.T
    distances: np.ndarray = np.sqrt(np.maximum(squares, 0))
    return distances


def _place(seen: Sequence[Seen], sources: Sequence[str], part: int, i: int) -> dict[str, Any]:
    """Say where a far row is."""
    place: dict[str, Any] = {"row": int(seen[part].far_rows[i])}
    if seen[part].far_names:
        place["id"] = seen[part].far_names[i]
    return place | ({"file": sources[part]} if sources else {})


def _of(place: Mapping[str, Any]) -> str:
    return f" of {place['file']}" if "file" in place and "id" not in place else ""
