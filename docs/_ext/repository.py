"""Files of the repository outside docs/ that the pages speak of: each gets a page that shows it.

A link to such a file, in a text or beside a signature of the reference, leads to that page. Where the link's words
end in the name of a function, class or test of the file, it leads to the line that defines it, so that no text needs
line numbers.
"""

import ast
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import coterie

ROOT = Path(__file__).parents[2]
PACKAGE = Path(coterie.__file__).parent
SITE_PAGES = {"README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}


class Repository(SphinxTransform):
    """Turn links to files and folders of the repository, and signatures, into links to their pages."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        """Replace the links of one document."""
        for node in list(self.document.findall(_leads_out)):
            folder = ROOT / "docs" / Path(self.env.docname).parent
            path = Path(os.path.normpath(folder / node["reftarget"]))
            if path.is_file() and ROOT in path.parents:
                shown = path.relative_to(ROOT).as_posix()
                node.replace_self(self._link(shown, node.astext(), node.children))
            elif path.is_dir():
                node.replace_self(node.children)
        for signature in list(self.document.findall(addnodes.desc_signature)):
            self._add_source(signature)

    def _link(self, shown: str, words: str, children: list[nodes.Node]) -> nodes.reference:
        if shown in SITE_PAGES:
            return self._reference(SITE_PAGES[shown], "", children)
        self.env.repository_files.setdefault(self.env.docname, set()).add(shown)
        lines, names = definitions(ROOT / shown), words.strip("()").split(".")
        line = lines.get(".".join(names[-2:])) or lines.get(names[-1])
        return self._reference(f"source/{shown}", f"#L-{line}" if line else "", children)

    def _reference(self, page: str, anchor: str, children: list[nodes.Node]) -> nodes.reference:
        up = "../" * self.env.docname.count("/")
        return nodes.reference("", "", *children, internal=True, refuri=f"{up}{page}.html{anchor}")

    def _add_source(self, signature: addnodes.desc_signature) -> None:
        found = _place(signature.get("module", ""), signature.get("fullname", ""))
        if found is not None:
            words = nodes.inline("", "[source]", classes=["source-link"])
            signature += self._link(found[0], found[1], [words])


def _leads_out(node: nodes.Node) -> bool:
    return isinstance(node, (addnodes.download_reference, addnodes.pending_xref)) and (
        node.get("reftype") == "myst" and node["reftarget"].startswith("..")
    )


def _place(module: str, name: str) -> tuple[str, str] | None:
    """Return the file of a documented class, function or method, and the name it has there."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        look = inspect.getattr_static if inspect.isclass(found) else getattr
        found = look(found, part, None)
    found = getattr(found, "__func__", getattr(found, "fget", found))
    found = inspect.unwrap(found) if callable(found) else None
    if found is None or not getattr(found, "__module__", "").startswith("coterie"):
        return None
    path = Path(inspect.getfile(found)).relative_to(PACKAGE)
    return f"src/coterie/{path.as_posix()}", found.__qualname__


def definitions(path: Path) -> dict[str, int]:
    """Return the line of each name that a Python file defines, alone and after the name of its class.

    A name that several classes have leads, alone, to the first of them.
    """
    lines: dict[str, int] = {}
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(path.read_text())):
            for part in ast.iter_child_nodes(node):
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    lines.setdefault(part.name, part.lineno)
                    lines[f"{getattr(node, 'name', '')}.{part.name}"] = part.lineno
    return lines


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Make the pages of all files that were linked to."""
    for shown in sorted(set().union(*app.env.repository_files.values())):
        text = (ROOT / shown).read_text()
        try:
            lexer = get_lexer_for_filename(shown)
        except ClassNotFound:
            lexer = TextLexer()
        code = highlight(text, lexer, HtmlFormatter(linenos="inline", linespans="L"))
        yield f"source/{shown}", {"title": shown, "body": f"<h1>{shown}</h1>{code}"}, "page.html"


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """Drop what a document linked to before it is read again."""
    env.repository_files.pop(docname, None)


def start(app: Sphinx) -> None:
    """Make room for what each document links to."""
    if not hasattr(app.env, "repository_files"):
        app.env.repository_files = {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform and the pages."""
    app.connect("builder-inited", start)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", pages)
    app.add_transform(Repository)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
