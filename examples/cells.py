"""Cells: the blood cells that come with scanpy, clustered in its manner, with Leiden beside them.

Where scanpy is not installed, the script plants counts of five kinds of cells of very different depth.

    python examples/cells.py
"""

import warnings
from importlib.util import find_spec

import anndata
import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import coterie.tl
from coterie.metrics import accuracy

N_CELLS, N_GENES, N_KINDS = 400, 300, 5


def planted(seed: int = 0) -> anndata.AnnData:
    """Return raw counts of planted kinds of cells, each with its own expression and every cell with its depth."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, N_KINDS, N_CELLS)
    expression = rng.gamma(0.5, 2.0, (N_KINDS, N_GENES))
    counts = rng.poisson(expression[kind] * rng.uniform(0.2, 2.0, (N_CELLS, 1)))
    cells = anndata.AnnData(sparse.csr_matrix(counts, dtype=np.float32))
    cells.obs["kind"] = [f"kind {number}" for number in kind]
    return cells


def bundled() -> anndata.AnnData:
    """Return scanpy's 700 blood cells, with the kinds that their authors gave them."""
    import scanpy

    cells = scanpy.datasets.pbmc68k_reduced()
    cells.obs["kind"] = cells.obs["bulk_labels"]
    return cells


def main() -> None:
    """Cluster, write everything into the object and a file, and compare with the known kinds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file is of an older format
        cells = bundled() if find_spec("scanpy") else planted()
    kinds = cells.obs["kind"].astype(str).to_numpy()
    k = len(set(kinds))

    coterie.tl.cluster(cells, k)
    print(f"{cells.n_obs} cells; {cells.uns['coterie']['rows']}")
    ways = {"coterie": cells.obs["coterie"]}
    if "connectivities" in cells.obsp:
        coterie.tl.cluster(cells, k, use_connectivities=True, key_added="on_graph", draw_map=False)
        ways["coterie on scanpy's graph"] = cells.obs["on_graph"]
        ways.update(leiden(cells))
    for name, labels in ways.items():
        found = labels.astype(str).to_numpy()
        print(
            f"{name}: {len(set(found))} clusters, accuracy {accuracy(kinds, found):.2f}, "
            f"ARI {adjusted_rand_score(kinds, found):.2f}"
        )

    unsure = cells.obs["coterie_confidence"].to_numpy().argsort()[:3]
    print(f"least sure: {', '.join(f'{cells.obs_names[i]} ({kinds[i]})' for i in unsure)}")
    coarse = cells.obsm["coterie_levels"][:, 0]
    print(f"two clusters from the same fit: {np.bincount(coarse).tolist()} cells")
    cells.write("cells.h5ad")
    print("cells.h5ad holds all of it; sc.pl.embedding(cells, 'coterie', color='coterie') draws the map")


def leiden(cells: anndata.AnnData) -> dict[str, object]:
    """Return Leiden's communities of scanpy's graph, where igraph is installed too."""
    if not find_spec("igraph"):
        return {}
    import scanpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.leiden(cells, flavor="igraph", n_iterations=2, random_state=0)
    return {"Leiden of scanpy": cells.obs["leiden"]}


if __name__ == "__main__":
    main()
