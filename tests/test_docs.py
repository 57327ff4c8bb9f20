"""Every Python block of the README and the docs runs, page by page; what pages quote and list is what there is."""

import ast
import json
import re
import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch.distributed as dist
import typer
from benchmarks.__main__ import app as benchmarks
from packaging.utils import canonicalize_name
from sklearn.datasets import make_blobs

from coterie import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"))]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, short_training):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", make_blobs(60, centers=10, random_state=0)[0])
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
    }.items():
        monkeypatch.setenv(name, value)  # as torchrun does
    module = ModuleType(
        "a_page_of_the_docs"
    )  # what a page defines can be imported, as in a file of its reader's
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), module.__dict__)
    if dist.is_initialized():
        dist.destroy_process_group()


def test_links_between_pages_lead_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in LINKING
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text())
        if not target.startswith("http") and not (page.parent / target).exists()
    ]
    assert broken == []


def places(page: Path) -> set[str]:
    """Return what a link may name after a # in a page: its headings, as GitHub and MyST write them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_to_a_place_in_a_page_find_it():
    links = [
        (page, page.parent / target if target else page, place)
        for page in LINKING
        for target, place in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text())
    ]
    assert len(links) > 20
    assert [f"{page.name}: {to.name}#{place}" for page, to, place in links if place not in places(to)] == []


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


def test_every_promise_has_a_test_and_every_test_it_names_exists():
    page = (ROOT / "docs" / "promises.md").read_text().partition("## What is not promised")[0]
    promises = [line for line in page.splitlines() if line.startswith("| ") and "tested by" not in line]
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(promises) > 20
    for promise in promises:
        tried = promise.rpartition(" | ")[2]
        named = re.findall(r"`(test_\w+)`", tried)
        measured = re.findall(r"`python -m benchmarks ([\w-]+)`", tried)
        assert named or measured, promise
        assert set(measured) <= set(typer.main.get_command(benchmarks).commands)
        assert [name for name in named if f"def {name}(" not in tests] == []


@pytest.fixture(scope="module")
def supply():
    place = spec_from_file_location("supply", ROOT / "docs" / "supply.py")
    module = module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_every_package_that_is_installed_is_listed_with_its_licence_and_reason(supply):
    page = (ROOT / "docs" / "supply.md").read_text()
    listed = {line.split(" | ")[0][2:]: line for line in page.splitlines() if line.startswith("| ")}
    listed.pop("package")
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE))
    wanted = supply.dependencies()
    assert set(listed) == set(wanted) == set(supply.REASONS)
    for name, group in wanted.items():
        licence = supply.licence(name) if version(name) == pins.get(name) else listed[name].split(" | ")[1]
        assert licence, name
        assert "GPL" not in licence
        assert listed[name] == f"| {name} | {licence} | {group} | {supply.REASONS[name]} |"


def test_the_bill_of_materials_has_all_that_is_installed_at_its_version_and_what_needs_it(supply):
    bill = json.loads(json.dumps(supply.bill_of_materials()))
    parts = {part["bom-ref"]: part for part in bill["components"]}
    names = {part["name"] for part in parts.values()}
    assert {canonicalize_name(name) for name in supply.dependencies()} <= names
    assert {"starlette", "pandas"} <= names, "what these install in turn"
    assert all(part["version"] == version(part["name"]) for part in parts.values())
    needs = {line["ref"]: line["dependsOn"] for line in bill["dependencies"]}
    own = bill["metadata"]["component"]["bom-ref"]
    assert set(needs) == {*parts, own}
    reached, open_ = set(), [own]
    while open_:
        reached.add(one := open_.pop())
        open_ += [other for other in needs[one] if other not in reached]
    assert reached == set(needs)
    assert [part for part in parts.values() if "GPL" in str(part.get("licenses"))] == []


def sentences_of_the_source() -> set[str]:
    """Return every text of the source as a reader sees it, with three dots for what differs."""

    def shown(node: ast.AST) -> str:
        if isinstance(node, ast.JoinedStr):
            return "".join(shown(value) for value in node.values)
        return str(node.value) if isinstance(node, ast.Constant) else "..."

    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.JoinedStr, ast.Constant)):
                found.add(shown(node).replace("%d", "..."))
    return found


def test_every_sentence_that_the_page_of_errors_quotes_is_in_the_source():
    page = (ROOT / "docs" / "errors.md").read_text()
    quoted = re.findall(r"^\| `([^`]+)` \|", page, flags=re.MULTILINE)
    assert len(quoted) > 50
    there = sentences_of_the_source()
    assert [sentence for sentence in quoted if sentence not in there] == []


def test_the_guide_has_every_command_and_every_option():
    guide = (ROOT / "docs" / "user-guide.md").read_text()
    command_line = typer.main.get_command(cli.app)
    assert f"`coterie {command_line.params[0].opts[0]}`" in guide
    sections = dict(
        re.findall(r"^### coterie (\w+).*?$(.*?)(?=^#|\Z)", guide, flags=re.DOTALL | re.MULTILINE)
    )
    assert set(sections) == set(command_line.commands)
    for name, command in command_line.commands.items():
        words = set(re.findall(r"`(--?[\w-]+)", sections[name]))
        options = [p for p in command.params if p.param_type_name == "option"]
        assert words == {word for option in options for word in [*option.opts, *option.secondary_opts]}, name


def test_the_walk_through_a_report_has_every_part_of_it():
    page = (ROOT / "docs" / "reading-a-report.md").read_text()
    headings = {
        heading
        for path in (ROOT / "src/coterie/explore").glob("*.py")
        for heading in re.findall(r'section\(\s*"[a-z]+",\s*"([^"]+)"', path.read_text())
    }
    assert len(headings) > 12
    assert sorted(heading for heading in headings if heading.lower() not in page.lower()) == []


ARCHITECTURE = ROOT / "docs" / "architecture.md"


@pytest.mark.parametrize("method", ["PCX", "SSCNet", "MVSIB"])
def test_the_walk_of_a_fit_has_the_calls_of_the_code_in_their_order(method):
    lines = [line.strip("| \n").split(" | ") for line in ARCHITECTURE.read_text().splitlines()]
    column = next(line for line in lines if line[0].strip() == "phase").index(method)
    phases = ("compare", "graph", "partition", "train", "label", "describe")
    table = {line[0]: re.findall(r"`(\w+)`", line[column]) for line in lines if line[0] in phases}
    assert tuple(table) == phases
    source = ast.parse((ROOT / f"src/coterie/methods/{method.lower()}/estimator.py").read_text())
    fit = next(node for node in ast.walk(source) if isinstance(node, ast.FunctionDef) and node.name == "_fit")
    plumbing = {"of", "to", "_resolved", "resolve_device", "_watchers", "fingerprint"}
    calls = sorted(
        (node.end_lineno, node.end_col_offset, getattr(node.func, "attr", getattr(node.func, "id", "")))
        for node in ast.walk(fit)
        if isinstance(node, ast.Call)
    )
    assert [name for *_, name in calls if name not in plumbing] == [
        name for names in table.values() for name in names
    ]
