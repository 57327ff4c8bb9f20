"""The cluster cards: exemplar, typical rows, and the features that set each cluster apart."""

from coterie.errors import counted
from coterie.explore.html_parts import (
    Html,
    element,
    figure,
    folded_cards,
    image,
    join,
    overlaid,
    section,
    swatch,
    table,
    thumbnail,
)
from coterie.explore.palette import colours
from coterie.explore.pictures import Thumbnails, data_uri
from coterie.explore.summary import Cluster, Summary


def clusters_panel(summary: Summary) -> Html:
    """Show a card for each cluster, the largest first: images, or the features that set it apart."""
    ordered = sorted(summary.clusters, key=lambda cluster: -cluster.size)
    palette = colours(len(ordered))
    cards = [_card(summary, cluster, palette[cluster.number]) for cluster in ordered if cluster.size]
    parts = folded_cards(cards, pictures=summary.thumbnails is not None)
    return section("clusters", "Clusters", *parts, note=_note(summary))


def _note(summary: Summary) -> str:
    sentences = []
    if summary.thumbnails is not None:
        decoded = "the exemplar that the model decoded, " if summary.thumbnails.decoded else ""
        sentences.append(
            f"Largest first: {decoded}the real row that stands for the cluster, and its most typical rows."
        )
    if any(cluster.features for cluster in summary.clusters):
        sentences.append(
            "What sets a cluster apart: the means of a feature in the cluster and in all other rows, how its values "
            "spread (coloured in the cluster, grey elsewhere), and the difference in standard deviations (SDs)."
        )
    return " ".join(sentences)


def _card(summary: Summary, cluster: Cluster, colour: str) -> Html:
    about = f"{counted(cluster.size, 'row')} ({cluster.size / summary.n_rows:.1%})"
    if cluster.commonest is not None:
        name, share = cluster.commonest
        about += f", mostly {name} ({share:.0%})"
    views = dict.fromkeys(feature.view for feature in cluster.features)
    tables = [_feature_table(cluster, view, single=len(summary.views) == 1) for view in views]
    parts = [element("h3", swatch(colour), f"Cluster {cluster.title}"), element("p", about, class_="about")]
    if summary.thumbnails is not None:
        parts += [_gallery(summary, cluster, summary.thumbnails), *tables]
    else:
        exemplar = "" if cluster.exemplar is None else f"Exemplar: row {cluster.exemplar}. "
        rows = f"{exemplar}Typical rows: {', '.join(map(str, cluster.typical))}."
        parts += [*tables, element("p", rows, class_="about")]
    return element("article", *parts, class_="card")


def _gallery(summary: Summary, cluster: Cluster, thumbnails: Thumbnails) -> Html:
    exemplars = []
    if cluster.number in thumbnails.decoded:
        decoded = data_uri(thumbnails.decoded[cluster.number])
        exemplars.append(figure(image(decoded, f"Decoded exemplar of cluster {cluster.title}"), "decoded"))
    if (row := cluster.exemplar) is not None:
        exemplars.append(figure(thumbnail(summary, row, f"Row {row}"), f"row {row}"))
    typical = [
        thumbnail(summary, row, f"Typical row {row} of cluster {cluster.title}") for row in cluster.typical
    ]
    return join([element("div", *exemplars, class_="pair"), element("div", *typical, class_="strip")])


def _feature_table(cluster: Cluster, view: str, *, single: bool) -> Html:
    rows = [
        [
            join(
                [
                    element("span", feature.name, class_="name", title=feature.name),
                    element("small", f"{feature.inside:.4g} here, {feature.elsewhere:.4g} elsewhere"),
                ]
            ),
            "" if feature.spread is None else overlaid(feature.spread, feature.name),
            f"{feature.difference:+.2f}",
        ]
        for feature in cluster.features
        if feature.view == view
    ]
    caption = f"What sets cluster {cluster.title} apart" + ("" if single else f" in {view}")
    headings = ["Feature, and its means", "Values", "SDs"]
    return table(caption, headings, rows, class_="features", quiet=single)
