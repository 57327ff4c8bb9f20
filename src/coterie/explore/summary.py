"""Everything that a person is shown about a fitted model, as plain values.

The report and the local page both draw from a `Summary`; nothing here knows about HTML.
"""

# n rows, s sampled rows, k clusters, d width of the embedding

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import InputError
from coterie.explore.ambiguity import Ambiguity, read_ambiguity
from coterie.explore.coding import Coding, read_coding
from coterie.explore.features import Feature
from coterie.explore.model_sample import ModelSample, Thumbnails, read_sample, read_thumbnails
from coterie.explore.pictures import ImageLayout
from coterie.explore.projection import Projection, project
from coterie.explore.rows import Table
from coterie.explore.training import Training, read_history
from coterie.explore.training_metrics import TrainingMetrics, read_course
from coterie.explore.view_statistics import ViewStatistics, read_viewing
from coterie.metrics import score_all

if TYPE_CHECKING:
    from coterie.methods.choosing.clusters import KChoice  # imports torch, which a page does without

_TYPICAL_ROWS = 5
_UNSURE_ROWS = 3
_LEAST_CERTAIN_ROWS = 20
# A row with this membership is sure, and rows that differ by less than this are equally so.
SURE = 0.99
_SAME = 1e-3
_HISTOGRAM_BINS = 20
_PACKAGES = ("coterie", "numpy", "scipy", "scikit-learn", "torch")


@dataclass(frozen=True)
class Cluster:
    """One cluster.

    Attributes
    ----------
    number : int
        Its position among the clusters.
    title : str
        Its label, and its name where it has one.
    size : int
        Its rows in all the data.
    confidence : float or None
        Mean membership of its sampled rows; None for an empty cluster.
    exemplar : int or None
        The real row that stands for it.
    typical, unsure : list of int
        Sampled rows nearest to the mean of its embedding, and those with the lowest membership.
    neighbours : list of int
        The other clusters that are not empty, nearest first by the mean of the embedding.
    features : list of Feature
        What sets it apart, view by view, the largest difference first.
    commonest : tuple of (str, float) or None
        The commonest known class among its rows, and that class's share of its labelled rows.
    """

    number: int
    title: str
    size: int
    confidence: float | None
    exemplar: int | None
    typical: list[int]
    unsure: list[int]
    neighbours: list[int]
    features: list[Feature]
    commonest: tuple[str, float] | None


@dataclass(frozen=True)
class Classes:
    """The known classes.

    Attributes
    ----------
    names : list of str
        Distinct classes in order.
    codes : ndarray of shape (n,)
        For each row of the data the position of its class in `names`, -1 when it is not labelled.
    """

    names: list[str]
    codes: NDArray[np.intp]


@dataclass(frozen=True)
class Summary:
    """What the report shows.

    Attributes
    ----------
    method : str
        Name of the estimator's class; for a refined model that of the class that was refined.
    n_rows : int
        Rows of the data.
    views : list of (str, int)
        Name and number of features of each view.
    seed : str
        The model's `seed_`, or else its random_state.
    scores : dict of str to dict
        Scores against the known classes: of the method, and of what it is compared with.
    clusters : list of Cluster
        By number.
    sample : ModelSample
        The rows that were looked at.
    projection : Projection
        Where they lie on the map.
    least_certain : list of int
        Positions in the sample, the lowest confidence first; none where all rows are sure, or equally so.
    histogram : ndarray of shape (bins,)
        Estimated rows of the data by confidence, in equal steps from 0 to 1.
    thumbnails : Thumbnails or None
        Images of rows, when rows are images.
    classes : Classes or None
        The known classes.
    viewing : ViewStatistics or None
        What the model says about its views, when it has several.
    coding : Coding or None
        What the model says about its sparse codes, when it has any.
    ambiguity : Ambiguity or None
        Which rows the model is uncertain of and what it took them for, when it tells them apart.
    course : TrainingMetrics or None
        What such a model measured while it trained.
    training : Training
        Curves and phases.
    k_choice : KChoice or None
        What the rows said about the number of clusters, where they were asked.
    parameters, versions : dict of str to str
        What it takes to do it again.
    """

    method: str
    n_rows: int
    views: list[tuple[str, int]]
    seed: str
    scores: dict[str, dict[str, float]]
    clusters: list[Cluster]
    sample: ModelSample
    projection: Projection
    least_certain: list[int]
    histogram: NDArray[np.float64]
    thumbnails: Thumbnails | None
    classes: Classes | None
    viewing: ViewStatistics | None
    coding: Coding | None
    ambiguity: Ambiguity | None
    course: TrainingMetrics | None
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
) -> Summary:
    """Look at a sample of rows through a fitted model and collect what is worth showing.

    Parameters
    ----------
    model : estimator
        Fitted on `X`.
    X : array, several views, or Views
        The rows the model was fitted on. Only the sampled ones are read, a chunk at a time.
    truth : array-like of shape (n,), optional
        Known classes, -1 where unknown.
    compare : mapping of str to array-like, optional
        Labels of other clusterings of the same rows, by name; scored beside the model's against `truth`.
    image_shape : tuple, optional
        Shape of one row as an image, for the first view that has this many features.
    feature_names : sequence or mapping, optional
        Names of the columns; for several views a sequence of sequences or a mapping by view. By default what
        the data say themselves.
    max_rows : int, default=5000
        The most rows to sample, besides the exemplars.
    embedding : {"auto", "tsne", "pca"}, default="auto"
        How the map is drawn, see `coterie.explore.projection.project`.
    names : mapping of int to str, optional
        What the clusters are called, by their labels; by default as a refined model calls them.
    random_state : int, default=0
        Decides the sample and the map.

    Returns
    -------
    Summary
        Plain values.
    """
    labels = positions(model)
    table = Table(X, model, feature_names)
    if len(labels) != table.n_rows:
        raise InputError(
            f"X has {table.n_rows} rows but the model was fitted on {len(labels)}; give the same rows."
        )
    layout = None if image_shape is None else ImageLayout.from_shape(tuple(image_shape))
    picture_view = None if layout is None else table.view_of_size(layout.size)
    classes = None if truth is None else read_classes(truth, table.n_rows)
    method, names = method_name(model), getattr(model, "names_", {}) if names is None else names
    scores = {} if truth is None else _scores(method, truth, labels, compare or {})

    sample = read_sample(model, table, labels, max_rows, random_state)
    # Pixels are shown as images, not as a list of columns.
    features = sample.top_features(table, skip=picture_view)
    sizes = np.bincount(labels, minlength=sample.n_clusters)
    numbers = np.asarray(getattr(model, "classes_", np.arange(sample.n_clusters))).tolist()
    titles = [cluster_title(number, names) for number in numbers]
    clusters = describe_clusters(sample, titles, features, sizes, classes, labels)
    least_certain = _least_certain(sample.confidence)
    shown = {row for c in clusters for row in [c.exemplar, *c.typical] if row is not None}
    shown.update(sample.rows[least_certain].tolist())
    coding = read_coding(model, table, labels, layout=layout, embedding=embedding, random_state=random_state)
    if coding is not None:
        shown.update(one.row for one in coding.worst)
    ambiguity = read_ambiguity(model, labels, sample, random_state=random_state)
    if ambiguity is not None:
        shown.update(one.row for one in ambiguity.rows)
    training, view_names = read_history(getattr(model, "history_", [])), [name for name, _ in table.views]
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
        projection=project(sample.embedding, embedding, random_state=random_state),
        least_certain=least_certain,
        histogram=_histogram(sample),
        thumbnails=(
            None
            if layout is None or picture_view is None
            else read_thumbnails(model, table, picture_view, layout, sorted(shown))
        ),
        classes=classes,
        viewing=read_viewing(model, view_names, sample.missing(), sampled=len(sample.rows) < table.n_rows),
        coding=coding,
        ambiguity=ambiguity,
        course=None if ambiguity is None else read_course(training, view_names),
        training=training,
        k_choice=getattr(model, "k_choice_", None),
        parameters=parameters,
        versions=_versions(model),
    )


def read_classes(truth: ArrayLike, n_rows: int) -> Classes:
    """Give the known classes of the rows numbers, -1 where a row has none."""
    values = np.asarray(truth, dtype=object)
    if values.shape != (n_rows,):
        raise InputError(f"truth has {values.size} entries but X has {n_rows} rows; give one class per row.")
    known = np.asarray(values != -1, dtype=bool)
    present = sorted(set(values[known]), key=lambda value: (isinstance(value, str), value))
    number = {value: position for position, value in enumerate(present)}
    codes = np.array([number.get(value, -1) for value in values], dtype=np.intp)
    return Classes([str(value) for value in present], codes)


def _scores(
    method: str, truth: ArrayLike, labels: NDArray[Any], compare: Mapping[str, ArrayLike]
) -> dict[str, dict[str, float]]:
    return {
        method: score_all(truth, labels),
        **{str(name): score_all(truth, other) for name, other in compare.items()},
    }


def method_name(model: Any) -> str:
    """Return what a report calls the method of a model."""
    return str(getattr(model, "method_", type(model).__name__))


def cluster_title(number: int, names: Mapping[int, str]) -> str:
    """Return what a cluster is called.

    Examples
    --------
    >>> cluster_title(3, {3: "cats"}), cluster_title(4, {3: "cats"})
    ('3: cats', '4')
    """
    return f"{number}: {names[number]}" if number in names else str(number)


def describe_clusters(
    sample: ModelSample,
    titles: Sequence[str],
    features: list[list[Feature]],
    sizes: NDArray[np.int64],
    classes: Classes | None,
    labels: NDArray[np.integer],
) -> list[Cluster]:
    """Say what each cluster is like.

    Parameters
    ----------
    sample : ModelSample
    titles : sequence of str
        What the clusters are called.
    features : list of list of Feature
        What sets each cluster apart.
    sizes : ndarray of shape (k,)
        Rows of each cluster in all the data.
    classes : Classes or None
    labels : ndarray of shape (n,)
        The clusters of all rows, from 0.
    """
    centres = sample.centres()
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    clusters = []
    for c in range(sample.n_clusters):
        members = np.flatnonzero(sample.labels == c)
        away = np.linalg.norm(sample.embedding[members] - centres[c], axis=1)
        by_distance = members[np.argsort(away, kind="stable")]
        by_confidence = members[np.argsort(sample.confidence[members], kind="stable")]
        near = [int(o) for o in np.argsort(apart[c], kind="stable") if o != c and sizes[o] > 0]
        clusters.append(
            Cluster(
                number=c,
                title=titles[c],
                size=int(sizes[c]),
                confidence=float(sample.confidence[members].mean()) if len(members) else None,
                exemplar=sample.exemplars.get(c),
                typical=sample.rows[by_distance[:_TYPICAL_ROWS]].tolist(),
                unsure=sample.rows[by_confidence[:_UNSURE_ROWS]].tolist(),
                neighbours=near if len(members) else [],
                features=features[c],
                commonest=None if classes is None else _commonest(classes, labels == c),
            )
        )
    return clusters


def _commonest(classes: Classes, members: NDArray[np.bool_]) -> tuple[str, float] | None:
    codes = classes.codes[members]
    counts = np.bincount(codes[codes >= 0], minlength=1)
    best = int(counts.argmax())
    return (classes.names[best], float(counts[best] / counts.sum())) if counts.sum() else None


def _least_certain(confidence: NDArray[np.float64]) -> list[int]:
    """Return the positions of rows that are less sure than others, the least sure first.

    Examples
    --------
    >>> _least_certain(np.array([1.0, 0.6, 0.999, 0.5])), _least_certain(np.array([0.25, 0.25]))
    ([3, 1], [])
    """
    if np.ptp(confidence) < _SAME:
        return []
    lowest = np.argsort(confidence, kind="stable")[:_LEAST_CERTAIN_ROWS]
    return lowest[confidence[lowest] < SURE].tolist()


def _histogram(sample: ModelSample) -> NDArray[np.float64]:
    counts, _ = np.histogram(sample.confidence, bins=_HISTOGRAM_BINS, range=(0, 1), weights=sample.weights)
    return counts


def positions(model: Any) -> NDArray[np.integer]:
    """Return the clusters of the rows, from 0; classes that have other numbers are counted in their order."""
    labels, classes = np.asarray(model.labels_), getattr(model, "classes_", None)
    return labels if classes is None else np.searchsorted(classes, labels)


def _versions(model: Any) -> dict[str, str]:
    """Return what the model says it was fitted with, or else what is installed now."""
    if getattr(model, "versions_", None):
        return {str(name): str(number) for name, number in model.versions_.items()}
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
