"""The site as a reader gets it: no warning, no dead link, nothing from elsewhere, a place for every public name."""

import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import coterie
import coterie.data
import coterie.metrics
import coterie.ops

ROOT = Path(__file__).parents[1]
MADE = shutil.ignore_patterns("_build", "generated", "used", "examples", "__pycache__")
LOADS = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
"""What a browser fetches by itself while it shows a page."""
ELSEWHERE = re.compile(r"""(@import|url\()\s*["']?(https?:)?//""")


class Html(HTMLParser):
    """What a page links to, loads and has anchors for."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads, self.formulas = set(), set(), set(), 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.formulas += tag == "math"
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        for name in LOADS.get(tag, ()):
            if given.get(name):
                self.loads |= (
                    {part.split()[0] for part in given[name].split(",")}
                    if name == "srcset"
                    else {given[name]}
                )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site from a copy of the docs, without running the gallery, and return where it is."""
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", place / "docs", ignore=MADE)
    for path in ROOT.iterdir():
        if path.suffix == ".md":
            shutil.copy(path, place)
        elif path.name != "docs" and not path.name.startswith("."):
            (place / path.name).symlink_to(path)
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-D",
        "plot_gallery=0",
    ]
    built = subprocess.run(
        [*command, str(place / "docs"), str(place / "html")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return place / "html"


@pytest.fixture(scope="module")
def pages(site):
    """All pages by their path."""
    return {path.resolve(): Html(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_page_of_the_docs_is_in_the_site(site):
    for path in (ROOT / "docs").rglob("*.md"):
        shown = path.relative_to(ROOT / "docs").with_suffix(".html")
        assert shown.parts[0] == "_build" or (site / shown).exists(), shown


def test_every_link_within_the_site_leads_to_a_page_and_an_anchor(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links | page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            lost = not target.is_file()
            if not lost and parts.fragment and target.suffix == ".html":
                lost = unquote(parts.fragment) not in pages[target].anchors
            if lost:
                broken.append(f"{path.name}: {link}")
    assert len(pages) > 80
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    loaded = {link for page in pages.values() for link in page.loads if urlsplit(link).netloc}
    styles = {path.name for path in site.rglob("*.css") if ELSEWHERE.search(path.read_text())}
    assert (loaded, styles) == (set(), set())


def test_every_formula_of_the_methods_is_mathml(site, pages):
    for path in (ROOT / "docs" / "methods").glob("*.md"):
        shown = site / "methods" / f"{path.stem}.html"
        text = path.read_text()
        inline = text.replace("$$", "").count("$") // 2
        assert pages[shown.resolve()].formulas == inline + text.count("$$") // 2
        assert "merror" not in shown.read_text()


def public_names():
    names = {f"coterie.{name}" for name in coterie.__all__}
    for module in (coterie.data, coterie.metrics):
        names |= {f"{module.__name__}.{name}" for name in module.__all__ if name not in coterie.__all__}
    for found in pkgutil.iter_modules(coterie.ops.__path__, "coterie.ops."):
        module = importlib.import_module(found.name)
        names |= {
            f"{found.name}.{name}"
            for name, value in vars(module).items()
            if (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__ == found.name
            and not name.startswith("_")
        }
    return names


def test_every_public_name_is_in_the_reference(pages):
    anchors = set().union(*(page.anchors for path, page in pages.items() if "api" in path.parts))
    assert {"coterie.PCX", "coterie.load", "coterie.choose_k"} <= public_names()
    assert public_names() - anchors == set()
