"""Figures for notebooks: the map, the sizes of the clusters, and two groups of rows compared."""

# n rows

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import InputError
from coterie.explore.compare import compare_groups
from coterie.explore.palette import colours
from coterie.explore.rows import Table
from coterie.explore.summary import cluster_positions, summarise

Group = int | Sequence[int] | NDArray[np.integer]

_ACROSS = 3


def plot_map(
    model: Any,
    X: Any,
    *,
    truth: ArrayLike | None = None,
    feature_names: Sequence[Any] | Mapping[str, Sequence[str]] | None = None,
    names: Mapping[int, str] | None = None,
    max_rows: int = 5000,
    embedding: str = "auto",
    random_state: int = 0,
) -> Any:
    """Return the map of the rows as a plotly figure, with the names of the clusters as its legend.

    Parameters
    ----------
    model, X, truth, feature_names, names, max_rows, embedding, random_state
        As `coterie.write_report` takes them.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import GraphClustering, plot_map
    >>> X = np.eye(3)[np.repeat([0, 1, 2], 30)] * 9 + np.random.default_rng(0).normal(size=(90, 3))
    >>> model = GraphClustering(3, random_state=0).fit(X)
    >>> [trace.name.split(",")[0] for trace in plot_map(model, X, embedding="pca").data]
    ['0: high feature 0', '1: high feature 1', '2: high feature 2']
    """
    go = _graph_objects()
    summary = summarise(
        model,
        X,
        truth=truth,
        feature_names=feature_names,
        names=names,
        max_rows=max_rows,
        embedding=embedding,
        random_state=random_state,
    )
    sample, (title, plane) = summary.sample, next(iter(summary.maps.items()))
    figure = go.Figure()
    for cluster, colour in zip(summary.clusters, colours(len(summary.clusters)), strict=True):
        own = sample.labels == cluster.number
        if own.any():
            figure.add_scattergl(
                x=plane.coordinates[own, 0],
                y=plane.coordinates[own, 1],
                mode="markers",
                name=cluster.title,
                marker={"color": colour, "size": 5, "opacity": 0.8},
                customdata=np.column_stack([sample.rows[own], np.round(sample.confidence[own], 3)]),
                hovertemplate="row %{customdata[0]}, confidence %{customdata[1]}",
            )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x")
    return figure.update_layout(title=f"{title}, by {plane.method}", plot_bgcolor="white")


def plot_sizes(model: Any, *, names: Mapping[int, str] | None = None) -> Any:
    """Return how many rows each cluster has, the largest first, as a plotly figure.

    Parameters
    ----------
    model : estimator
        Fitted.
    names : mapping of int to str, optional
        Names of the clusters, by their labels; by default those of a refined model.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import GraphClustering, plot_sizes
    >>> X = np.eye(2)[np.repeat([0, 1], [20, 40])] * 9 + np.random.default_rng(0).normal(size=(60, 2))
    >>> bars = plot_sizes(GraphClustering(2, random_state=0).fit(X), names={0: "few"}).data[0]
    >>> sorted(map(int, bars.y))
    [20, 40]
    """
    go = _graph_objects()
    numbers, counts = np.unique(np.asarray(model.labels_), return_counts=True)
    known = getattr(model, "names_", {}) if names is None else names
    order = np.argsort(-counts, kind="stable")
    titles = [known.get(number, f"cluster {number}") for number in numbers[order].tolist()]
    return go.Figure(go.Bar(x=titles, y=counts[order])).update_layout(yaxis_title="rows")


def plot_compare(
    model: Any,
    X: Any,
    first: Group,
    second: Group | None = None,
    *,
    feature_names: Sequence[Any] | Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Return how two groups of rows spread in the features in which they differ most, as a plotly figure.

    Parameters
    ----------
    model, X, feature_names
        As `coterie.write_report` takes them.
    first, second : int or array of int
        A cluster, or row numbers; by default the second group is all rows that are not in the first.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import GraphClustering, plot_compare
    >>> X = np.eye(3)[np.repeat([0, 1, 2], 30)] * 9 + np.random.default_rng(0).normal(size=(90, 3))
    >>> figure = plot_compare(GraphClustering(3, random_state=0).fit(X), X, 0, 2)
    >>> sorted(note.text.split(" (")[0] for note in figure.layout.annotations[:2])
    ['feature 0', 'feature 2']
    """
    go = _graph_objects()
    from plotly.subplots import make_subplots

    table, labels = Table(X, model, feature_names), cluster_positions(model)
    if len(labels) != table.n_rows:
        raise InputError(
            f"X has {table.n_rows} rows but the model was fitted on {len(labels)}; give the same rows."
        )
    classes = np.asarray(getattr(model, "classes_", np.arange(int(labels.max()) + 1)))
    one = _rows(first, classes, labels)
    other = np.setdiff1d(np.arange(table.n_rows), one) if second is None else _rows(second, classes, labels)
    features = compare_groups(model, table, one, other).features
    titles = [f"{feature.name} ({feature.difference:+.2f} SDs)" for feature in features]
    figure = make_subplots(rows=-(-len(features) // _ACROSS), cols=_ACROSS, subplot_titles=titles)
    called = [_called(first), "the rest" if second is None else _called(second)]
    for i, feature in enumerate(features):
        assert feature.spread is not None
        marks = np.array(feature.spread.marks)
        middles = marks if feature.spread.values else (marks[1:] + marks[:-1]) / 2
        for name, shares, colour in zip(
            called, (feature.spread.inside, feature.spread.outside), colours(2), strict=True
        ):
            bar = go.Bar(x=middles, y=shares, name=name, opacity=0.6, marker_color=colour, showlegend=i == 0)
            figure.add_trace(bar, row=i // _ACROSS + 1, col=i % _ACROSS + 1)
    return figure.update_layout(barmode="overlay", bargap=0, legend_title="share of the rows of")


def _rows(group: Group, classes: NDArray[Any], labels: NDArray[np.integer]) -> NDArray[np.int64]:
    if not isinstance(group, int):
        return np.unique(np.asarray(group, dtype=np.int64))
    if group not in classes:
        raise InputError(f"There is no cluster {group}; give one of {classes.tolist()}, or row numbers.")
    return np.flatnonzero(classes[labels] == group)


def _called(group: Group) -> str:
    return f"cluster {group}" if isinstance(group, int) else f"{len(group)} rows"


def _graph_objects() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise InputError("A plot needs plotly: pip install 'coterie[explore]'.") from None
    return go
