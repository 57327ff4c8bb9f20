"""Texts: the documentation of scipy's functions, embedded by word weights, grouped by what it is about.

No text is downloaded: the docstrings of the installed packages are the texts, and the module of a function is the
class that it is compared with at the end.

    python examples/texts.py
"""

import importlib
import inspect
import re

import numpy as np

from coterie import PCX, write_report
from coterie.data import TextRows
from coterie.metrics import accuracy

MODULES = ("stats", "signal", "linalg", "special", "ndimage", "optimize", "sparse", "interpolate")
N_AXES, EPOCHS = 64, 80


def read_docstrings() -> tuple[list[str], list[str], list[str]]:
    """Return the names, the texts and the modules of scipy's documented functions and classes."""
    names, texts, modules = [], [], []
    for module in MODULES:
        library = importlib.import_module(f"scipy.{module}")
        for name in sorted(getattr(library, "__all__", dir(library))):
            thing = getattr(library, name)
            text = inspect.getdoc(thing) or ""
            if callable(thing) and len(text) > 400 and text not in texts:
                names.append(f"{module}.{name}")
                # Not the signature, nor the sections in which packages and other functions are listed.
                texts.append(re.split(r"\n(See Also|Notes|References)\n", text.partition("\n")[2])[0])
                modules.append(module)
    return names, texts, modules


def main() -> None:
    """Embed, cluster, and print what each cluster is about."""
    names, texts, modules = read_docstrings()
    words = TextRows(n_axes=N_AXES).fit(texts)
    embedding = words.transform(texts)
    print(f"{len(texts)} texts, {len(words.words_)} words, {N_AXES} axes")

    model = PCX(len(MODULES), scale="sample", max_epochs=EPOCHS, random_state=0).fit(embedding)
    terms = words.cluster_terms(texts, model.labels_, 6)
    sure = model.assign(embedding).confidence
    for cluster in np.argsort(-model.cluster_sizes_):
        rows = np.flatnonzero(model.labels_ == cluster)
        if not len(rows):
            continue
        print(f"\ncluster {cluster}, {len(rows)} texts: {', '.join(terms[cluster])}")
        print(f"  stands for it: {names[model.exemplar_indices_[cluster]]}")
        print(f"  least sure:    {', '.join(names[row] for row in rows[sure[rows].argsort()[:3]])}")

    found = accuracy(modules, model.labels_)
    print(f"\n{found:.0%} of the texts are in the cluster of their module; no fit saw the modules.")
    write_report(model, embedding, "texts.html", truth=modules, title="scipy's documentation")
    print("Report: texts.html")


if __name__ == "__main__":
    main()
