"""The command line."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import typer

from coterie.cli.commands import Stopped, app
from coterie.cli.inputs import is_follower
from coterie.cli.patience import reported
from coterie.errors import InputError, Terminated

__all__ = ["app", "main", "run"]


def main() -> None:
    """Run the command line; a mistake of the user's ends in one sentence and exit code 2."""
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(run(sys.argv[1:]))


def _stop(number: int, frame: Any) -> None:
    raise Terminated


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; no command at all asks for help."""
    try:
        command = typer.main.get_command(app)
        with reported(arguments):
            result = command.main(arguments or ["--help"], prog_name="coterie", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except InputError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename or 'A file'}: {error.strerror or error}.")
    except MemoryError as error:
        return _fail(
            f"There is not enough memory ({error or 'no more is known'}); close other programs or use fewer rows."
        )
    except KeyboardInterrupt as interruption:  # before a command began
        stop = Stopped(interruption)
        return _fail(stop.sentence, code=stop.code)
    except Stopped as stop:
        return _fail(stop.sentence, code=stop.code)
    except Exception as error:
        if hasattr(error, "format_message"):
            asked = getattr(getattr(error, "ctx", None), "command_path", "coterie")
            return _fail(f"{error.format_message().rstrip('.')}; see {asked} --help.")
        if isinstance(error, (typer.Exit, typer.Abort)):
            return getattr(error, "exit_code", 1)
        if os.environ.get("COTERIE_DEBUG"):
            raise
        return _fail(
            f"This is a bug in coterie ({type(error).__name__}: {error}); "
            "COTERIE_DEBUG=1 shows where, please report it.",
            code=1,
        )


def _fail(message: str, code: int = 2) -> int:
    who = f" (process {os.environ['RANK']})" if is_follower() else ""
    print(f"coterie{who}: " + " ".join(message.split()), file=sys.stderr)
    return code
