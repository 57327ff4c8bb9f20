"""The report: one HTML file that needs nothing else, neither a network nor a server."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from coterie import __version__
from coterie.errors import InputError
from coterie.explore import cards, figures, panels
from coterie.explore.coding_panel import coding_panel
from coterie.explore.count_panel import count_panel
from coterie.explore.html_parts import Html, element, join, json_for_script
from coterie.explore.multiview_panels import ambiguity_panel, views_panel
from coterie.explore.summary import Summary, summarise
from coterie.store import atomic_path


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    truth: ArrayLike | None = None,
    compare: Mapping[str, ArrayLike] | None = None,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[Any] | Mapping[str, Sequence[str]] | None = None,
    max_rows: int = 5000,
    embedding: str = "auto",
    names: Mapping[int, str] | None = None,
    title: str | None = None,
    answers: Sequence[str] = (),
    random_state: int = 0,
    maps: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the clusters of a fitted model as one self-contained HTML file.

    It shows a map, what each cluster is like, the least certain rows and the training.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of coterie, or another with `labels_`, `predict_proba`, `transform` and
        `get_params`. `history_`, `exemplar_indices_`, `exemplars_` and `versions_` are shown when present, and
        so are the view statistics of a multi-view model, the atoms, codes and landmarks of `SSCNet`, and the
        ambiguous rows of `MVSIB`.
    X : array, several views, or Views
        The rows the model was fitted on, in the same order. Only a sample is read.
    path : str or path
        Where to write. The file appears complete or not at all.
    truth : array-like of shape (n,), optional
        Known classes, integers or strings, -1 where unknown: adds scores and a colouring.
    compare : mapping of str to array-like, optional
        Labels of other clusterings of the same rows, such as ``{"k-means": labels}``, scored like the
        model's. Used only with `truth`.
    image_shape : tuple, optional
        (height, width), (height, width, channels) or (channels, height, width) of a row that is an image.
    feature_names : sequence or mapping, optional
        Names of the columns; for several views a sequence of sequences or a mapping by view.
    max_rows : int, default=5000
        The most rows to sample for the map and the confidences, in addition to the exemplars.
    embedding : {"auto", "tsne", "pca"}, default="auto"
        How the map is drawn: "auto" takes t-SNE when openTSNE is installed, else PCA.
    names : mapping of int to str, optional
        Names of the clusters, by their labels; by default those of a refined model.
    title : str, optional
        Heading of the page.
    answers : sequence of str, optional
        A person's corrections to the clusters, in words, oldest first, to be listed.
    random_state : int, default=0
        Decides the sample and the maps.
    maps : path, optional
        A file that keeps the maps, so that the next report or page of the same rows has them at once.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> class Mixture(GaussianMixture):
    ...     def transform(self, X):
    ...         return X
    >>> X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    >>> model = Mixture(2, random_state=0)
    >>> model.labels_ = model.fit_predict(X)
    >>> folder = getfixture("tmp_path")
    >>> write_report(model, X, folder / "report.html").name
    'report.html'
    """
    script = plotly_script()
    summary = summarise(
        model,
        X,
        truth=truth,
        compare=compare,
        image_shape=image_shape,
        feature_names=feature_names,
        max_rows=max_rows,
        embedding=embedding,
        names=names,
        random_state=random_state,
        maps=None if maps is None else Path(maps),
    )
    return write_page(Path(path), render_page(summary, script, title=title, answers=answers))


def render_page(
    summary: Summary, plotly_script: str, *, title: str | None = None, answers: Sequence[str] = ()
) -> str:
    """Assemble the page from a summary and the text of plotly's script.

    A content security policy allows the two scripts by their hashes and nothing else: no request leaves the
    page, and no script that might have come with the data runs.
    """
    heading = title or f"{summary.method}: {len(summary.clusters)} clusters"
    own_script = resource("plots.js") + resource("page.js")
    policy = _policy(plotly_script, own_script)
    sections = [section for section in _sections(summary, answers) if section]
    body = [
        element("a", "Skip to the map", href="#map", class_="skip"),
        element("header", element("h1", heading), panels.facts(summary)),
        _contents(sections),
        element("main", *sections),
        element("footer", f"Written by coterie {__version__}."),
        element("noscript", "The plots need JavaScript; all tables work without it."),
    ]
    data = {
        "map": figures.map_figure(summary),
        "landmarks": None if summary.coding is None else figures.landmark_figure(summary.coding.graph),
        "curves": figures.curve_figures(summary.training),
    }
    return join(
        [
            Html('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
            Html('<meta name="color-scheme" content="light dark">\n'),
            element("title", heading),
            Html(f"\n<style>\n{resource('style.css')}</style>\n</head>\n<body>\n"),
            join(body, "\n"),
            Html(f'\n<script type="application/json" id="report-data">{json_for_script(data)}</script>'),
            Html(f"\n<script>{plotly_script}</script>\n<script>{own_script}</script>\n</body>\n</html>\n"),
        ]
    )


def _sections(summary: Summary, answers: Sequence[str]) -> list[Html]:
    return [
        panels.scores(summary),
        panels.map_panel(summary),
        views_panel(summary.view_statistics),
        cards.clusters_panel(summary),
        element("div", panels.sizes_panel(summary), panels.confidence_panel(summary), class_="two-columns"),
        panels.uncertain_panel(summary),
        panels.answers_panel(answers),
        ambiguity_panel(summary),
        coding_panel(summary),
        count_panel(summary.k_choice),
        panels.training_panel(summary),
        panels.parameters_panel(summary),
    ]


def _contents(sections: Sequence[Html]) -> Html:
    """List the sections by their headings, each a link to it."""
    found = re.findall(r'<h2 id="([a-z]+)-heading">([^<]*)</h2>', "".join(sections))
    links = (
        element("li", element("a", Html(heading), href=f"#{identifier}")) for identifier, heading in found
    )
    return element("nav", element("ul", *links), class_="contents", aria_label="Contents")


def _policy(*scripts: str) -> str:
    """Allow these scripts, styles and drawn images; no address to load from or to send to."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "form-action 'none'; base-uri 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def resource(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files("coterie.explore").joinpath(name).read_text(encoding="utf-8")


def plotly_script() -> str:
    """Return the text of plotly's own script, from the installed package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise InputError("Writing a report needs plotly: pip install 'coterie[explore]'.") from None
    return get_plotlyjs()


def write_page(path: Path, page: str) -> Path:
    """Write the page in one step; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as draft:
        draft.write_text(page, encoding="utf-8", newline="\n")
    return path
