"""The server of the page: each address turns a request into a call of the session, and the result into JSON."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from importlib import resources
from typing import Annotated, Any, Literal

from fastapi import Body, FastAPI, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from coterie.errors import InputError
from coterie.explore.live import describe
from coterie.explore.live.answers import Apart, Class, Merge, Name, Rows, Strict, Together
from coterie.explore.live.comparing import CompareRequest, compare_json, question_json, split_json
from coterie.explore.live.export import EXPORTS
from coterie.explore.live.filters import filter_json, rows_like, selection_json
from coterie.explore.live.guard import LOOPBACK, Guard, Keys
from coterie.explore.live.levels import overview_json
from coterie.explore.live.row_details import RowDetails
from coterie.explore.live.session import Session, StaleError
from coterie.explore.live.state import Change
from coterie.explore.report import resource

_MOST_LISTED = 60
_MOST_SELECTED = 20_000
_SCRIPT = "text/javascript; charset=utf-8"
_STYLE = "text/css; charset=utf-8"
_SCRIPTS = (
    "dom.js",
    "canvas.js",
    "map.js",
    "rows.js",
    "features.js",
    "compare.js",
    "filters.js",
    "overview.js",
    "clusters.js",
    "panels.js",
    "explorer.js",
)


Steps = Annotated[int, Header(alias="coterie-steps", ge=0, lt=2**31)]
"""How many steps the page knew of when it gave an answer; one that does not say, or missed some, is refused."""


class LabelRequest(Strict):
    """Rows and their class; none is a new one."""

    rows: Rows
    to: Class | None = None


class RowsRequest(Strict):
    """Some rows."""

    rows: Rows


class ClusterRequest(Strict):
    """One class."""

    cluster: Class


def make_app(session: Session, keys: Keys) -> Any:
    """Return the application of one session, behind its guard."""
    app = FastAPI(title="coterie", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(InputError, _sentence)
    app.add_exception_handler(StaleError, _stale)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _refused)
    _add_files(app)
    _add_queries(app, session, RowDetails(session))
    _add_answers(app, session)
    _add_exports(app, session)
    return Guard(app, keys)


async def _sentence(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, 400)


async def _stale(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, 409)


async def _refused(_: Request, error: Exception) -> JSONResponse:
    """Refuse an unknown address or method in the form of all other refusals."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": f"{error.detail}."}, error.status_code, error.headers)


async def _misread(_: Request, error: Exception) -> JSONResponse:
    """Say which part of a request is wrong, without repeating what was sent."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = " ".join(part for part in map(str, first["loc"][1:]) if part.replace("-", "").isidentifier())
    return JSONResponse({"error": f"The request is wrong: {where or 'its body'}, {first['type']}."}, 422)


def _add_files(app: FastAPI) -> None:
    """Serve the page and its parts, a fixed list of files; no address leads to any other."""

    def own(name: str) -> Callable[[], str]:
        return lambda: resources.files("coterie.explore.live").joinpath("static", name).read_text("utf-8")

    files: dict[str, tuple[str, Callable[[], str]]] = {
        "/": ("text/html; charset=utf-8", own("index.html")),
        "/style.css": (_STYLE, lambda: resource("style.css")),
        "/explorer.css": (_STYLE, own("explorer.css")),
        "/plots.js": (_SCRIPT, lambda: resource("plots.js")),
    }
    files |= {f"/{name}": (_SCRIPT, own(name)) for name in _SCRIPTS}
    for address, (kind, read) in files.items():
        app.get(address)(_file(kind, read))


def _file(kind: str, read: Callable[[], str]) -> Callable[[], Response]:
    def answer() -> Response:
        return Response(read(), media_type=kind)

    return answer


def _add_queries(app: FastAPI, session: Session, details: RowDetails) -> None:
    @app.get("/api/run")
    def run() -> Any:
        return describe.run_json(session)

    @app.get("/api/state")
    def state() -> Any:
        return describe.state_json(session)

    @app.get("/api/map")
    def plane(of: Annotated[str, Query(max_length=20)] = "data") -> Any:
        points = describe.map_json(session, of)
        session.map_requested.set()
        return points

    @app.get("/api/colours/{key}")
    def colours(key: str) -> Any:
        colouring = describe.colouring_json(session, key)
        if colouring is None:
            raise InputError("The map cannot be coloured by this.")
        return colouring

    @app.get("/api/rows")
    def rows(rows: Annotated[str, Query(max_length=20 * _MOST_LISTED)]) -> Any:
        return details.rows(_row_numbers(rows, session.n_rows))

    @app.get("/api/clusters/{number}")
    def cluster(number: Annotated[int, Path(ge=0, lt=2**31)]) -> Any:
        return details.cluster(number)

    @app.get("/api/clusters/{number}/rows")
    def members(
        number: Annotated[int, Path(ge=0, lt=2**31)],
        order: Literal["unsure", "sure", "row"] = "unsure",
        offset: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        most: Annotated[int, Query(ge=1, le=_MOST_LISTED)] = 24,
    ) -> Any:
        return details.rows(details.members(number, order, offset, most))

    @app.get("/api/found")
    def found(words: Annotated[str, Query(min_length=1, max_length=200)]) -> Any:
        return _search(session, words.strip(), _MOST_SELECTED)

    @app.get("/api/like/{row}")
    def like(row: Annotated[int, Path(ge=0, lt=2**31)]) -> Any:
        return details.rows(rows_like(session, row))

    @app.get("/api/filters/{key}")
    def one_filter(key: str) -> Any:
        return filter_json(session, key)

    @app.get("/api/split/{number}")
    def split_preview(number: Annotated[int, Path(ge=0, lt=2**31)]) -> Any:
        return split_json(session, details, number)

    @app.get("/api/question/{row}")
    def question(row: Annotated[int, Path(ge=0, lt=2**31)]) -> Any:
        return question_json(session, details, row)

    @app.post("/api/selection")
    def selection(request: Annotated[RowsRequest, Body()]) -> Any:
        return selection_json(session, request.rows)

    @app.get("/api/overview")
    def overview(level: Annotated[int | None, Query(ge=1, lt=2**31)] = None) -> Any:
        return overview_json(session, level)

    @app.post("/api/compare")
    def compare(request: Annotated[CompareRequest, Body()]) -> Any:
        return compare_json(session, details, request)

    @app.get("/api/search")
    def search(words: Annotated[str, Query(min_length=1, max_length=200)]) -> Any:
        return details.rows(_search(session, words.strip(), _MOST_LISTED))


def _row_numbers(text: str, n_rows: int) -> list[int]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > _MOST_LISTED or not all(
        part.isascii() and part.isdigit() and len(part) < 11 for part in parts
    ):
        raise InputError(f"rows must be up to {_MOST_LISTED} row numbers with commas between them.")
    rows = [int(part) for part in parts]
    if rows and max(rows) >= n_rows:
        raise InputError(f"There is no row {max(rows)}: the rows are 0 to {n_rows - 1}.")
    return rows


def _search(session: Session, words: str, most: int) -> list[int]:
    """Return the row with this number, and the rows whose metadata contain these words."""
    numbered = words.isascii() and words.isdigit() and len(words) < 11 and int(words) < session.n_rows
    rows = [int(words)] if numbered else []
    if session.metadata is not None and words:
        rows += [row for row in session.metadata.search(words, most) if row not in rows[:1]]
    return rows[:most]


def _add_answers(app: FastAPI, session: Session) -> None:
    def result(steps: int, take: Callable[[], Change]) -> Any:
        with session.unchanged_since(steps):
            change = take()
            return {"change": describe.change_json(session, change), "state": describe.state_json(session)}

    @app.post("/api/label")
    def label(request: Annotated[LabelRequest, Body()], steps: Steps) -> Any:
        return result(steps, lambda: session.label(request.rows, request.to))

    @app.post("/api/merge")
    def merge(request: Annotated[Merge, Body()], steps: Steps) -> Any:
        return result(steps, lambda: session.merge(request.source, request.into))

    @app.post("/api/split")
    def split(request: Annotated[ClusterRequest, Body()], steps: Steps) -> Any:
        return result(steps, lambda: session.split(request.cluster))

    @app.post("/api/together")
    def together(request: Annotated[Together, Body()], steps: Steps) -> Any:
        return result(steps, lambda: session.together(request.rows))

    @app.post("/api/apart")
    def apart(request: Annotated[Apart, Body()], steps: Steps) -> Any:
        return result(steps, lambda: session.apart(request.rows))

    @app.post("/api/name")
    def name(request: Annotated[Name, Body()], steps: Steps) -> Any:
        return result(steps, lambda: session.name(request.cluster, request.name))

    @app.post("/api/undo")
    def undo(steps: Steps) -> Any:
        return result(steps, session.undo)

    @app.post("/api/redo")
    def redo(steps: Steps) -> Any:
        return result(steps, session.redo)


def _add_exports(app: FastAPI, session: Session) -> None:
    @app.get("/api/export/{what}")
    def export(what: str) -> Response:
        if what not in EXPORTS:
            raise InputError("There is no such export.")
        path = session.export(EXPORTS[what].write, EXPORTS[what].file)
        return FileResponse(path, media_type=EXPORTS[what].media_type, filename=EXPORTS[what].file)


def serve(session: Session, port: int, echo: Callable[[str], None]) -> None:
    """Serve a session on this machine until it is interrupted; port 0 takes a free one."""
    import uvicorn

    try:
        listening = _listen(port)
        keys = Keys(listening.getsockname()[1])
        session.start()
        echo(f"Open {keys.link()}")
        echo("The link works once. Press Enter for another one, Ctrl-C to stop.")
        if sys.stdin is not None and sys.stdin.isatty():
            threading.Thread(target=_print_links, args=(keys, echo), daemon=True).start()
        settings = uvicorn.Config(
            make_app(session, keys),
            log_level="error",  # a request that is no HTTP is no news
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
        )
        uvicorn.Server(settings).run(sockets=[listening])
    finally:
        session.log.close()


def _print_links(keys: Keys, echo: Callable[[str], None]) -> None:
    for _ in sys.stdin:
        echo(f"Open {keys.link()}")


def _listen(port: int) -> socket.socket:
    """Bind a port of this machine that no other machine can reach."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # whoever opens the link at once has to wait, and is not refused
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(f"--port {port} cannot be used ({error}); give another one, or none.") from error
    return listening
