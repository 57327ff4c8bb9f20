"""The cards of the clusters: what each one is like."""

from coterie.explore.features import Feature
from coterie.explore.html_parts import counted, folded_cards, image, section, swatch, thumbnail
from coterie.explore.markup import Html, element, join, table
from coterie.explore.palette import colours
from coterie.explore.pictures import data_uri
from coterie.explore.summary import Cluster, Summary


def clusters_panel(summary: Summary) -> Html:
    """Show what each cluster is like, the largest first: images, or the features that set it apart."""
    ordered = sorted(summary.clusters, key=lambda cluster: -cluster.size)
    palette = colours(len(ordered))
    cards = [_card(summary, cluster, palette[cluster.number]) for cluster in ordered if cluster.size]
    parts = folded_cards(cards, pictures=summary.thumbnails is not None)
    return section("clusters", "Clusters", *parts, note=_cards_note(summary))


def _cards_note(summary: Summary) -> str:
    said = []
    if summary.thumbnails is not None:
        decoded = "the exemplar that the model decoded, " if summary.thumbnails.decoded else ""
        said.append(
            f"Largest first: {decoded}the real row that stands for the cluster, and its most typical rows."
        )
    if any(cluster.features for cluster in summary.clusters):
        said.append(
            "Bars show how far the mean of a feature in the cluster lies from its mean in all other rows, in "
            "standard deviations (SDs): to the right when higher, to the left when lower."
        )
    return " ".join(said)


def _card(summary: Summary, cluster: Cluster, colour: str) -> Html:
    share = cluster.size / summary.n_rows
    about = f"{counted(cluster.size, 'row')} ({share:.1%})"
    if cluster.commonest is not None:
        name, part = cluster.commonest
        about += f", mostly {name} ({part:.0%})"
    parts: list[Html] = [
        element("h3", swatch(colour), f"Cluster {cluster.title}"),
        element("p", about, class_="about"),
    ]
    if summary.thumbnails is not None:
        parts.append(_gallery(summary, cluster))
    views = dict.fromkeys(feature.view for feature in cluster.features)
    parts.extend(_feature_table(summary, cluster, view) for view in views)
    if summary.thumbnails is None:
        parts.append(element("p", _named_rows(cluster), class_="about"))
    return element("article", *parts, class_="card")


def _named_rows(cluster: Cluster) -> str:
    stands = "" if cluster.exemplar is None else f"Exemplar: row {cluster.exemplar}. "
    return f"{stands}Typical rows: {', '.join(map(str, cluster.typical))}."


def _gallery(summary: Summary, cluster: Cluster) -> Html:
    thumbnails = summary.thumbnails
    if thumbnails is None:
        return Html("")
    main = []
    if cluster.number in thumbnails.decoded:
        image = data_uri(thumbnails.decoded[cluster.number])
        main.append(_figure(image, f"Decoded exemplar of cluster {cluster.title}", "decoded"))
    if cluster.exemplar is not None:
        main.append(_row_figure(summary, cluster.exemplar, f"row {cluster.exemplar}"))
    small = [
        thumbnail(summary, row, f"Typical row {row} of cluster {cluster.title}") for row in cluster.typical
    ]
    return join([element("div", *main, class_="pair"), element("div", *small, class_="strip")])


def _figure(source: str, alt: str, caption: str) -> Html:
    return element("figure", image(source, alt), element("figcaption", caption))


def _row_figure(summary: Summary, row: int, caption: str) -> Html:
    return element("figure", thumbnail(summary, row, f"Row {row}"), element("figcaption", caption))


def _feature_table(summary: Summary, cluster: Cluster, view: str) -> Html:
    chosen = [feature for feature in cluster.features if feature.view == view]
    widest = max(abs(feature.difference) for feature in cluster.features)
    rows = [
        [
            element("span", feature.name, class_="name", title=feature.name),
            _diverging(feature, widest),
            f"{feature.difference:+.2f}",
        ]
        for feature in chosen
    ]
    single = len(summary.views) == 1
    caption = f"What sets cluster {cluster.title} apart" + ("" if single else f" in {view}")
    headings = ["Feature", Html('<span class="hidden">Bar</span>'), "SDs"]
    return table(caption, headings, rows, class_="features", quiet=single)


def _diverging(feature: Feature, widest: float) -> Html:
    half = 50 * abs(feature.difference) / widest
    side = "left:50%" if feature.difference > 0 else f"left:{50 - half:.1f}%"
    means = f"mean {feature.inside:.4g} here, {feature.elsewhere:.4g} elsewhere"
    return element(
        "div", element("i", "", style=f"{side};width:{half:.1f}%"), class_="diverging", title=means
    )
