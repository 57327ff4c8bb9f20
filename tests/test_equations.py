"""A reader finds the code of any numbered equation of the five papers by its number, and the names still exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[`([^`]+)`\]\(([^)#]+\.py)\)")


def numbers(first: int, last: int, letter: str = "") -> list[str]:
    return [f"Eq. {letter}{number}" for number in range(first, last + 1)]


# What the papers number, from their texts. Those with a star were found by counting: see the page of FUCSMF.
NUMBERED = {
    "pcx": [*numbers(1, 17), "Definitions 1 to 3", "Lemma 1", "Lemma 2", "Theorem 1", "Algorithm 1"],
    "largemvc": [*numbers(1, 19), "Lemma 1", "Theorem 1", "Corollary 1", "Remarks 1 and 2", "Algorithm 1"],
    "mvsib": [
        *numbers(1, 52),
        *numbers(1, 14, "A."),
        *numbers(1, 12, "B."),
        *numbers(1, 14, "C."),
        *("Theorem A", "Theorem B", "Theorem C", "Algorithm 1"),
    ],
    "sscnet": [*numbers(1, 32), *numbers(1, 2, "C."), "Proposition 1", "Proposition 2", "Algorithm 1"],
    "fucsmf": [
        *("Eqs. 1, 2 and 4 to 12", "Eq. 3", *numbers(13, 29)),
        *("Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4", "Algorithm 1"),
    ],
}


def equations(page: str) -> dict[str, list[str]]:
    """Return the cells of each line of the table by the number in its first cell."""
    text = (ROOT / "docs" / "methods" / f"{page}.md").read_text()
    lines = text.split("### Every numbered equation")[1].split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {first.removesuffix(" *"): [first, *rest] for first, *rest in cells[2:]}


def defined(path: Path) -> set[str]:
    """Return the functions and classes of a file, those inside classes with the class before them."""

    def names(node: ast.AST, before: str = "") -> set[str]:
        found = set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                found |= {before + child.name, *names(child, f"{before}{child.name}.")}
        return found

    return names(ast.parse(path.read_text()))


def wrong_links(page: Path) -> list[str]:
    """Return the links to code whose words do not name something that the file defines.

    The words are a test, the module and what it defines, or the name of the file.
    """
    wrong = []
    for words, target in LINK.findall(page.read_text()):
        path = (page.parent / target).resolve()
        name = words.removeprefix(f"{path.stem}.")
        if not path.is_file() or not (target.endswith(f"/{words}") or name in defined(path)):
            wrong.append(f"{words} in {target}")
    return wrong


@pytest.mark.parametrize("page", NUMBERED)
def test_every_number_of_a_paper_has_a_line_of_its_own(page):
    table = equations(page)
    assert [number for number in NUMBERED[page] if number not in table] == []
    assert all(len(cells) == 5 for cells in table.values())


@pytest.mark.parametrize("page", NUMBERED)
def test_a_line_leads_to_code_and_a_test_or_says_why_not(page):
    for number, (_, what, code, test, _) in equations(page).items():
        assert what, number
        assert code.startswith("not in the code: ") or LINK.search(code), number
        assert "tests/" not in code, number
        if LINK.search(code):
            assert "../../tests/" in test, number


@pytest.mark.parametrize(
    "page", sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
)
def test_code_that_a_page_names_is_where_it_says(page):
    assert wrong_links(ROOT / page) == []


def test_a_link_to_code_that_is_not_there_is_found(tmp_path):
    (tmp_path / "code.py").write_text("class Found:\n    def step(self): ...\n")
    page = tmp_path / "page.md"
    page.write_text("[`code.Found.step`](code.py) [`code.step`](code.py) [`gone`](code.py) [`a`](none.py)")
    assert wrong_links(page) == ["code.step in code.py", "gone in code.py", "a in none.py"]
