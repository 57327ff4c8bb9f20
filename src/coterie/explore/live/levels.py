"""The overview that the page asks for: clusters at a level of the merge tree, their heat map and the merges above."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.errors import InputError
from coterie.explore.live.session import Session
from coterie.explore.live.state import State
from coterie.explore.overview import heat_map, merges_above, tree_order
from coterie.explore.palette import colours
from coterie.explore.summary import Cluster, cluster_title, describe_clusters, described_features

_MOST_CLUSTERS = 60


def most_clusters(session: Session) -> int:
    """Return the finest level that can be chosen; 0 where there is no tree of what is shown."""
    levels = getattr(session.model, "levels_", None)
    if levels is None or session.corrections.move_rows or (session.state.labels < 0).any():
        return 0
    return max(min(levels.most, _MOST_CLUSTERS), len(session.state.numbers))


def state_at(session: Session, n_clusters: int) -> State:
    """Return the clusters at a level; the session's own where that is the number of its clusters."""
    if n_clusters == len(session.state.numbers):
        return session.state
    if not 1 <= n_clusters <= most_clusters(session):
        raise InputError(
            "There is no such level: only GraphClustering has a merge tree, until a correction moves rows."
        )
    labels = session.model.labels_at(n_clusters)
    numbers = np.arange(n_clusters)
    return State(numbers, labels, session.state.confidence, None, numbers, {}, [])


def clusters_at(session: Session, state: State) -> list[Cluster]:
    """Describe the clusters of a level."""
    if state is session.state:
        return session.clusters()
    sample = session.sample.by_state(state)
    features = described_features(sample, session.table, skip=session.picture_view)
    return describe_clusters(
        sample, state.numbers.tolist(), features, state.sizes(), session.classes, state.positions(), {}
    )


def overview_json(session: Session, n_clusters: int | None) -> dict[str, Any]:
    """Return the heat map of clusters and columns, and the merges above."""
    own = len(session.state.numbers)
    state = state_at(session, own if n_clusters is None else n_clusters)
    k, most = len(state.numbers), most_clusters(session)
    merges = merges_above(session.model.levels_, k) if most else []
    order = tree_order(merges, k)
    clusters = clusters_at(session, state)
    sample, table = session.sample.by_state(state), session.table
    views = [
        (view, table.feature_names[v], sample.means[v])
        for v, (view, _) in enumerate(table.views)
        if v != session.picture_view
    ]
    heat = heat_map(views, order) if views else None
    paints = (
        colours(k) if state is not session.state else [session.paints.of(n) for n in state.numbers.tolist()]
    )
    several = len(table.views) > 1
    return {
        "level": k,
        "own": own,
        "most": most,
        "clusters": [
            {
                "number": int(state.numbers[c]),
                "title": clusters[c].title,
                "size": clusters[c].size,
                "colour": paints[c],
            }
            for c in order
        ],
        "columns": []
        if heat is None
        else [f"{view}: {name}" if several else name for view, name in heat.columns],
        "cells": [] if heat is None else np.round(heat.cells, 2).tolist(),
        "means": [] if heat is None else [[_short(value) for value in line] for line in heat.means.tolist()],
        "merges": [[order.index(a), order.index(b)] for a, b in merges],
    }


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if np.isfinite(value) else None


def level_groups(session: Session, n_clusters: int) -> tuple[list[int], list[tuple[str, str]]]:
    """Return the cluster of each sampled row at a level, and the titles and colours of the clusters."""
    state = state_at(session, n_clusters)
    clusters = clusters_at(session, state)
    named = {number: cluster.name for number, cluster in zip(state.numbers.tolist(), clusters, strict=True)}
    titles = [cluster_title(n, {n: name} if (name := named[n]) else {}) for n in state.numbers.tolist()]
    return state.positions()[session.sample.rows].tolist(), list(
        zip(titles, colours(len(titles)), strict=True)
    )
