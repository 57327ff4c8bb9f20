"""Pages of the docs and the README's table, made from the records and nothing else."""

from __future__ import annotations

from pathlib import Path

from benchmarks.render import costs, papers, peers, sweeps
from benchmarks.render.tables import with_tables

ROOT = Path(__file__).parents[2]


def pages() -> dict[str, str]:
    """Return what each file should hold, by its path in the repository."""
    folder = "docs/benchmarks"
    made = {
        f"{folder}/peers.md": peers.page(),
        f"{folder}/papers.md": papers.page(),
        f"{folder}/costs.md": costs.page(),
        **{f"{folder}/{name}": text for name, text in {**peers.drawings(), **sweeps.drawings()}.items()},
    }
    written = [
        ROOT / "README.md",
        *(
            ROOT / "docs" / name
            for name in ("choose.md", "explorer.md", "many-processes.md", "user-guide.md")
        ),
        *sorted((ROOT / "docs" / "methods").glob("*.md")),
    ]
    return made | {str(page.relative_to(ROOT)): with_tables(page.read_text()) for page in written}


def write_pages() -> list[str]:
    """Write them; return the paths of those that changed."""
    changed = []
    for name, text in pages().items():
        path = ROOT / name
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            changed.append(name)
    return changed
