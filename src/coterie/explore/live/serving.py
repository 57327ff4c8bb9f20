"""Start the page on this machine and print the link to it."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable

from coterie.errors import InputError
from coterie.explore.live.guard import LOOPBACK, Keys
from coterie.explore.live.session import Session


def serve(session: Session, port: int, say: Callable[[str], None]) -> None:
    """Serve a session until it is interrupted.

    Parameters
    ----------
    session : Session
    port : int
        0 takes a free one.
    say : callable
        Prints a line.
    """
    import uvicorn

    from coterie.explore.live.server import make_app

    try:
        listening = _listen(port)
        keys = Keys(listening.getsockname()[1])
        session.start()
        say(f"Open {keys.link()}")
        say("The link works once. Press Enter for another one, Ctrl-C to stop.")
        if sys.stdin is not None and sys.stdin.isatty():
            threading.Thread(target=_hand_out, args=(keys, say), daemon=True).start()
        settings = uvicorn.Config(
            make_app(session, keys),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
        )
        uvicorn.Server(settings).run(sockets=[listening])
    finally:
        session.log.close()


def _hand_out(keys: Keys, say: Callable[[str], None]) -> None:
    for _ in sys.stdin:
        say(f"Open {keys.link()}")


def _listen(port: int) -> socket.socket:
    """Take a port of this machine that no other machine can reach."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # who opens the link at once has to wait, and is not refused
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(f"--port {port} cannot be used ({error}); give another one, or none.") from error
    return listening
