"""Every Python block of the README and the docs runs, in order, page by page."""

import re
from pathlib import Path

import pytest

from coterie.engine import schedule
from coterie.methods.parts import RunSettings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        RunSettings, "least_steps", 40
    )  # the pages show defaults; here a short training will do
    monkeypatch.setattr(schedule, "_MOST_EPOCHS", 4)
    names: dict = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), names)


def test_links_between_pages_lead_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text())
        if not target.startswith("http") and not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_readme_names_the_two_commands_and_ci_calls_the_second():
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_every_test_that_the_errata_name_exists():
    page = (ROOT / "docs" / "errata.md").read_text()
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 60
    assert {name for name in named if f"def {name}(" not in tests} == set()
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert {Path(name).name for name in re.findall(r"`([\w/]*test_\w+\.py)`", page)} <= files
