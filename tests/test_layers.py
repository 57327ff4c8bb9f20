"""The shape of the house: imports point down only, and the command line starts without the heavy packages."""

import ast
import subprocess
import sys
from pathlib import Path

import coterie

SOURCE = Path(coterie.__file__).parent
FLOORS = [
    ["errors", "collectives"],
    ["store", "metrics"],
    ["data"],
    ["ops"],
    ["nn"],
    ["engine"],
    ["graph"],
    ["methods"],
    ["explore", "runs"],
    ["demo", "tl"],
    ["cli"],
    ["__main__", "__init__"],
]
HEIGHT = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("coterie."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {name.name.split(".")[1] for name in node.names if name.name.startswith("coterie.")}
    return found


def test_every_import_points_down_or_stays_in_its_room():
    upward = [
        f"{path.relative_to(SOURCE)} imports {other}"
        for path in SOURCE.rglob("*.py")
        for other in imported_rooms(path)
        if other != room_of(path) and HEIGHT[other] >= HEIGHT[room_of(path)]
    ]
    assert upward == []


def test_every_room_has_its_floor():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")}
    assert rooms == set(HEIGHT)


def test_the_command_line_starts_without_the_heavy_packages():
    heavy = ("torch", "sklearn", "scipy", "numpy", "plotly")
    code = f"import sys, coterie.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_all_there():
    for name in coterie.__all__:
        assert getattr(coterie, name) is not None
