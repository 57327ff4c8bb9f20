"""One run in a forked process, without importing everything anew, with a limit of CPU seconds."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def forked(
    work: Callable[..., dict[str, Any]], *arguments: Any, limit: int, compiled: bool = False
) -> dict[str, Any]:
    """Return what the work returns, or {"failed": why}.

    The process comes from a server that has imported torch and scikit-learn once and has computed nothing; or, for
    work that this process has `compiled`, from this process. Its peak of memory counts from its start.
    """
    context = multiprocessing.get_context("fork" if compiled else "forkserver")
    if not compiled:
        context.set_forkserver_preload(["benchmarks.compare", "benchmarks.peers.classic", "coterie"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, work, arguments, limit))
    process.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        result = None
    process.join()
    if result is not None:
        return result
    if process.exitcode == -signal.SIGXCPU:
        return {"failed": f"took more than {limit} processor seconds"}
    return {"failed": f"ended with code {process.exitcode}"}


def _run(
    sender: Connection, work: Callable[..., dict[str, Any]], arguments: tuple[Any, ...], limit: int
) -> None:
    # Processor seconds, so that other work on the machine ends nobody's run.
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    with contextlib.ExitStack() as quiet:  # peers print what they like
        nowhere = quiet.enter_context(Path(os.devnull).open("w"))
        quiet.enter_context(contextlib.redirect_stdout(nowhere))
        quiet.enter_context(contextlib.redirect_stderr(nowhere))
        try:
            result = work(*arguments)
        except Exception as error:  # whatever a peer dies of is what its record says
            result = {"failed": f"{type(error).__name__}: {error}"[:300]}
    sender.send(result)
