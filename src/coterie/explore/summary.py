"""Everything that a person is shown about a fitted model, as plain values.

The report and the local page both draw from a `Summary`; nothing here knows about HTML.
"""

# n rows, s sampled rows, k clusters, d width of the embedding

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import InputError
from coterie.explore.ambiguity import Ambiguity, read_ambiguity
from coterie.explore.coding import Coding, read_coding
from coterie.explore.distributions import with_spreads
from coterie.explore.maps import Maps
from coterie.explore.model_sample import Feature, ModelSample, read_sample
from coterie.explore.names import automatic_names
from coterie.explore.pictures import ImageLayout, Thumbnails, read_thumbnails
from coterie.explore.projection import Projection
from coterie.explore.rows import Table
from coterie.explore.training import Training, read_history
from coterie.explore.view_statistics import ViewStatistics, read_view_statistics
from coterie.metrics import score_all
from coterie.store import versions

if TYPE_CHECKING:
    from coterie.methods.choosing.clusters import KChoice  # imports torch, which a page does without

_TYPICAL_ROWS = 5
_LEAST_CERTAIN_ROWS = 20
# A row with this confidence is certain, and rows that differ by less than this are equally so.
CERTAIN = 0.99
_SAME = 1e-3
_HISTOGRAM_BINS = 20


@dataclass(frozen=True)
class Cluster:
    """One cluster.

    Attributes
    ----------
    number : int
        Its position among the clusters.
    title : str
        Its label, and its name where it has one.
    name : str
        The one that a person gave, or else one that says what sets it apart; "" where nothing does.
    size : int
        Its rows in all the data.
    confidence : float or None
        Mean membership of its sampled rows; None for an empty cluster.
    exemplar : int or None
        The real row that stands for it.
    typical : list of int
        Sampled rows nearest to the mean of its embedding.
    neighbours : list of int
        The other clusters that are not empty, nearest first by the mean of the embedding.
    features : list of Feature
        What sets it apart, view by view, the largest difference first.
    commonest : tuple of (str, float) or None
        The commonest known class among its rows, and that class's share of its labelled rows.
    """

    number: int
    title: str
    name: str
    size: int
    confidence: float | None
    exemplar: int | None
    typical: list[int]
    neighbours: list[int]
    features: list[Feature]
    commonest: tuple[str, float] | None


@dataclass(frozen=True)
class Classes:
    """The known classes: their names in order, and the code (n,) of each row, -1 when it is not labelled."""

    names: list[str]
    codes: NDArray[np.intp]

    def name_of(self, row: int) -> str:
        """Return the class of a row in words."""
        return self.names[self.codes[row]] if self.codes[row] >= 0 else "not labelled"


@dataclass(frozen=True)
class Summary:
    """What the report shows.

    Attributes
    ----------
    views : list of (str, int)
        Name and number of features of each view.
    seed : str
        The model's `seed_`, or else its random_state.
    scores : dict of str to dict
        Scores against the known classes: of the method, and of what it is compared with.
    maps : dict of str to Projection
        Where the sampled rows lie on each map, by its title; the first is shown first.
    least_certain : list of int
        Positions in the sample, the lowest confidence first; none where all rows are certain, or equally so.
    histogram : ndarray of shape (bins,)
        Estimated rows of the data by confidence, in equal steps from 0 to 1.
    thumbnails, classes, view_statistics, coding, ambiguity, k_choice
        None for a model or data without them.
    """

    method: str
    n_rows: int
    views: list[tuple[str, int]]
    seed: str
    scores: dict[str, dict[str, float]]
    clusters: list[Cluster]
    sample: ModelSample
    maps: dict[str, Projection]
    least_certain: list[int]
    histogram: NDArray[np.float64]
    thumbnails: Thumbnails | None
    classes: Classes | None
    view_statistics: ViewStatistics | None
    coding: Coding | None
    ambiguity: Ambiguity | None
    training: Training
    k_choice: "KChoice | None"
    parameters: dict[str, str]
    versions: dict[str, str]


def summarise(
    model: Any,
    X: Any,
    *,
    truth: ArrayLike | None = None,
    compare: Mapping[str, ArrayLike] | None = None,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[Any] | Mapping[str, Sequence[str]] | None = None,
    max_rows: int = 5000,
    embedding: str = "auto",
    names: Mapping[int, str] | None = None,
    random_state: int = 0,
    maps: Maps | Path | None = None,
    rows: NDArray[np.int64] | None = None,
) -> Summary:
    """Collect what is worth showing of a fitted model, from a sample of its rows that is read a chunk at a time.

    The parameters are those of `coterie.write_report`; `rows` are a sample that was drawn before, and `maps` those
    of it.
    """
    labels = cluster_positions(model)
    table = Table(X, model, feature_names)
    if len(labels) != table.n_rows:
        raise InputError(
            f"X has {table.n_rows} rows but the model was fitted on {len(labels)}; give the same rows."
        )
    layout = None if image_shape is None else ImageLayout.from_shape(tuple(image_shape))
    picture_view = None if layout is None else table.view_of_size(layout.size)
    classes = None if truth is None else read_classes(truth, table.n_rows)
    method, names = method_name(model), getattr(model, "names_", {}) if names is None else names
    scores = {}
    if truth is not None:
        labelings = {method: labels, **(compare or {})}
        scores = {str(name): score_all(truth, other) for name, other in labelings.items()}

    sample = read_sample(model, table, labels, max_rows, random_state, rows)
    if not isinstance(maps, Maps):
        maps = Maps(model, table, sample, embedding, kept=maps, random_state=random_state)
    # Pixels are shown as images, not as a list of columns.
    features = described_features(sample, table, skip=picture_view)
    sizes = np.bincount(labels, minlength=sample.n_clusters)
    numbers = np.asarray(getattr(model, "classes_", np.arange(sample.n_clusters))).tolist()
    clusters = describe_clusters(sample, numbers, features, sizes, classes, labels, names)
    least_certain = _least_certain(sample.confidence)
    coding = read_coding(model, table, labels, layout=layout, embedding=embedding, random_state=random_state)
    ambiguity = read_ambiguity(model, labels, sample, random_state=random_state)
    thumbnails = None
    if layout is not None and picture_view is not None:
        shown = {row for c in clusters for row in [c.exemplar, *c.typical] if row is not None}
        shown.update(sample.rows[least_certain].tolist())
        shown.update(row.row for row in (coding.worst if coding else ()))
        shown.update(row.row for row in (ambiguity.rows if ambiguity else ()))
        thumbnails = read_thumbnails(model, table, picture_view, layout, sorted(shown))
    # Options are listed one by one, as the command line writes them.
    params = {
        name.replace("__", "."): value for name, value in model.get_params().items() if name != "options"
    }
    parameters = {name: repr(value) for name, value in sorted(params.items())}
    return Summary(
        method=method,
        n_rows=table.n_rows,
        views=table.views,
        # A model that was given no seed may still say which one it drew.
        seed=str(getattr(model, "seed_", parameters.get("random_state", "not stated"))),
        scores=scores,
        clusters=clusters,
        sample=sample,
        maps=maps.known(),
        least_certain=least_certain,
        histogram=np.histogram(sample.confidence, _HISTOGRAM_BINS, (0, 1), weights=sample.weights)[0],
        thumbnails=thumbnails,
        classes=classes,
        view_statistics=read_view_statistics(
            model,
            [name for name, _ in table.views],
            sample.missing(),
            sampled=len(sample.rows) < table.n_rows,
        ),
        coding=coding,
        ambiguity=ambiguity,
        training=read_history(getattr(model, "history_", [])),
        k_choice=getattr(model, "k_choice_", None),
        parameters=parameters,
        versions=getattr(model, "versions_", None) or versions(),
    )


def read_classes(truth: ArrayLike, n_rows: int) -> Classes:
    """Code the known classes of the rows from 0, with -1 where a row has none."""
    values = np.asarray(truth, dtype=object)
    if values.shape != (n_rows,):
        raise InputError(f"truth has {values.size} entries but X has {n_rows} rows; give one class per row.")
    known = np.asarray(values != -1, dtype=bool)
    distinct = sorted(set(values[known]), key=lambda value: (isinstance(value, str), value))
    code_of = {value: code for code, value in enumerate(distinct)}
    codes = np.array([code_of.get(value, -1) for value in values], dtype=np.intp)
    return Classes([str(value) for value in distinct], codes)


def method_name(model: Any) -> str:
    """Return what a report calls the method of a model."""
    return str(getattr(model, "method_", type(model).__name__))


def cluster_title(number: int, names: Mapping[int, str]) -> str:
    """Return the number of a cluster, with its name where it has one.

    Examples
    --------
    >>> cluster_title(3, {3: "cats"}), cluster_title(4, {3: "cats"})
    ('3: cats', '4')
    """
    return f"{number}: {names[number]}" if number in names else str(number)


def described_features(sample: ModelSample, table: Table, skip: int | None) -> list[list[Feature]]:
    """Return what sets each cluster apart, with the spread of every column in it and elsewhere."""
    groups = [(sample.labels == c, sample.labels != c) for c in range(sample.n_clusters)]
    return with_spreads(sample.top_features(table, skip=skip), table, sample.rows, groups, sample.weights)


def describe_clusters(
    sample: ModelSample,
    numbers: Sequence[int],
    features: list[list[Feature]],
    sizes: NDArray[np.int64],
    classes: Classes | None,
    labels: NDArray[np.integer],
    names: Mapping[int, str],
) -> list[Cluster]:
    """Describe each cluster by its typical and least certain rows, its neighbours, its features and classes.

    `numbers`, `features` and `sizes` have an entry for each cluster, `labels` (n,) the cluster of each row, from 0;
    `names` are a person's, by the numbers of the clusters, and win over those that follow from the features.
    """
    common = [None if classes is None else _commonest(classes, labels == c) for c in range(sample.n_clusters)]
    found = automatic_names(features, common)
    named = {number: name for number, name in zip(numbers, found, strict=True) if name} | dict(names)
    centres = sample.centres()
    distances = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    clusters = []
    for c in range(sample.n_clusters):
        members = np.flatnonzero(sample.labels == c)
        to_centre = np.linalg.norm(sample.embedding[members] - centres[c], axis=1)
        by_distance = members[np.argsort(to_centre, kind="stable")]
        near = [int(o) for o in np.argsort(distances[c], kind="stable") if o != c and sizes[o] > 0]
        clusters.append(
            Cluster(
                number=c,
                title=cluster_title(numbers[c], named),
                name=named.get(numbers[c], ""),
                size=int(sizes[c]),
                confidence=float(sample.confidence[members].mean()) if len(members) else None,
                exemplar=sample.exemplars.get(c),
                typical=sample.rows[by_distance[:_TYPICAL_ROWS]].tolist(),
                neighbours=near if len(members) else [],
                features=features[c],
                commonest=common[c],
            )
        )
    return clusters


def _commonest(classes: Classes, members: NDArray[np.bool_]) -> tuple[str, float] | None:
    codes = classes.codes[members]
    counts = np.bincount(codes[codes >= 0], minlength=1)
    best = int(counts.argmax())
    return (classes.names[best], float(counts[best] / counts.sum())) if counts.sum() else None


def _least_certain(confidence: NDArray[np.float64]) -> list[int]:
    """Return the positions of the rows with the lowest confidence, lowest first."""
    if np.ptp(confidence) < _SAME:
        return []
    lowest = np.argsort(confidence, kind="stable")[:_LEAST_CERTAIN_ROWS]
    return lowest[confidence[lowest] < CERTAIN].tolist()


def cluster_positions(model: Any) -> NDArray[np.integer]:
    """Return the cluster of each row, from 0; classes with other numbers are counted in their order."""
    labels, classes = np.asarray(model.labels_), getattr(model, "classes_", None)
    return labels if classes is None else np.searchsorted(classes, labels)
