"""Omics: cells measured in three ways, many of them in one or two only, kept in a MuData file.

The script writes the file itself: five planted kinds of cells, a quarter of the measurements missing, and one assay
that went wrong for some cells.

    python examples/omics.py
"""

import warnings

import anndata
import mudata
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from coterie import LargeMvCNet, recommend, write_report
from coterie.data import read_views
from coterie.metrics import accuracy

KINDS = ("B", "T helper", "T killer", "NK", "monocyte")
WIDTHS = {"rna": 300, "protein": 40, "methylation": 120}
N_CELLS, N_SPOILT = 900, 30


def plant(seed: int = 0) -> tuple[dict[str, pd.DataFrame], pd.Series, list[str]]:
    """Return a table for each modality, the kind of every cell, and the cells whose protein assay went wrong."""
    rng = np.random.default_rng(seed)
    cells = [f"cell{i}" for i in range(N_CELLS)]
    kind = rng.choice(len(KINDS), N_CELLS, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    there = rng.random((N_CELLS, len(WIDTHS))) > 0.25
    there[np.flatnonzero(~there.any(axis=1)), 0] = True  # every cell is seen somehow
    tables = {}
    for (name, width), seen in zip(WIDTHS.items(), there.T, strict=True):
        marked = rng.normal(size=(len(KINDS), width)) * (rng.random((len(KINDS), width)) < 0.15)
        values = 2 * marked[kind] + rng.normal(size=(N_CELLS, width))
        tables[name] = pd.DataFrame(values, index=cells, columns=[f"{name}{j}" for j in range(width)])[seen]
    spoilt = rng.choice(tables["protein"].index, N_SPOILT, replace=False)
    tables["protein"].loc[spoilt] = 25 * rng.normal(size=(N_SPOILT, WIDTHS["protein"]))
    return tables, pd.Series(np.array(KINDS)[kind], index=cells), sorted(spoilt)


def write_mudata(tables: dict[str, pd.DataFrame], path: str) -> list[str]:
    """Write the tables as modalities; return the cells in the order of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mudata announces changes of its next version
        data = mudata.MuData(
            {name: anndata.AnnData(table.astype("float32")) for name, table in tables.items()}
        )
        data.write(path)
    return list(data.obs_names)


def main() -> None:
    """Write the file, ask for a method, cluster, and say what was found and what was mended."""
    tables, kinds, spoilt = plant()
    cells = write_mudata(tables, "cells.h5mu")
    truth = kinds[cells].to_numpy()
    views = read_views("cells.h5mu")
    there = views.present_rows(slice(None))
    print(f"{views}, {(~there.all(axis=1)).mean():.0%} of the cells lack a modality")
    print(f"recommend says {recommend(views, n_clusters=len(KINDS)).method}; LargeMvCNet takes seconds:\n")

    model = LargeMvCNet(len(KINDS), random_state=0).fit(views)
    for cluster in np.argsort(-model.cluster_sizes_):
        members = truth[model.labels_ == cluster]
        names, counts = np.unique(members, return_counts=True)
        most = counts.argmax()
        print(f"cluster {cluster}: {len(members)} cells, {counts[most] / len(members):.0%} {names[most]}")

    filled = [np.where(np.isnan(view), np.nanmean(view, axis=0), view) for view in views.read(slice(None))]
    plain = KMeans(len(KINDS), n_init=10, random_state=0).fit_predict(np.hstack(filled))
    ours, theirs = (accuracy(truth, labels) for labels in (model.labels_, plain))
    print(f"\naccuracy {ours:.2f}; k-means on gaps filled with means {theirs:.2f}")

    protein = list(views.names).index("protein")
    found = {cells[row] for row in np.flatnonzero(model.noise_[:, protein])}
    alone = {cell for cell, seen in zip(cells, there, strict=True) if seen[protein] and seen.sum() == 1}
    print(
        f"spoilt protein assays: {len(found & set(spoilt))} of {N_SPOILT} found, {len(found - set(spoilt))} others "
        f"suspected; {len(alone & set(spoilt))} spoilt cells have nothing else, and are taken as they are"
    )

    unseen = np.flatnonzero(~there[:, protein])[:3]
    guessed = model.inverse_transform(model.transform(views))[protein]
    for row in unseen:
        best = views.feature_names[protein][guessed[row].argmax()]
        print(f"{cells[row]} has no protein; the others suggest most of {best} ({truth[row]})")
    write_report(model, views, "omics.html", truth=truth, title="Cells in three modalities")
    print("Report: omics.html")


if __name__ == "__main__":
    main()
