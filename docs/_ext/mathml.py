"""Formulas as MathML, computed when the site is built: a browser shows them without any script or font of ours."""

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

_LONG = 40
_UPRIGHT = re.compile(r'<mi mathvariant="normal">([^<])</mi>')
_WORD = re.compile(rf"(?:{_UPRIGHT.pattern}){{2,}}")
_BRACKET = re.compile(r"<m([io])>(&#x027E[89];|&#x02016;|&#x0007C;)</m\1>")


def as_mathml(formula: str, display: str) -> str:
    """Return a formula of LaTeX as a MathML element.

    An upright word is one identifier, so that its letters stand close; brackets and bars keep their size.
    """
    found = convert(formula, display=display)
    found = _WORD.sub(lambda word: f"<mi>{''.join(_UPRIGHT.findall(word[0]))}</mi>", found)
    return _BRACKET.sub(r'<mo stretchy="false">\2</mo>', found)


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line; browsers do not break it, so that a long one scrolls on a narrow screen."""
    formula = node.astext()
    kind = "math-long" if len(formula) > _LONG else "math-short"
    translator.body.append(f'<span class="{kind}">{as_mathml(formula, "inline")}</span>')
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on its own; a wide one scrolls by itself."""
    place = f' id="{escape(node["ids"][0])}"' if node["ids"] else ""
    translator.body.append(f'<div class="math-block"{place}>{as_mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; `html_math_renderer` chooses it."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
