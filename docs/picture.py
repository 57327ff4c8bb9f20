"""Take the picture of the home page again: the explorer on the digits, in light and dark, by headless Chromium.

`make picture` runs it.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.browsing import Page, Program

from coterie.cli import run
from coterie.data import load_digits

STATIC = Path(__file__).parent / "_static"
SHORT = ("max_epochs=60", "hidden=[256,64]")


def take(folder: Path) -> None:
    """Fit the digits, open the page at one cluster and take it twice."""
    digits = load_digits()
    np.savez(folder / "digits.npz", X=digits.views.read(slice(None))[0], y=digits.target)
    settings = [word for setting in SHORT for word in ("--set", setting)]
    data, out = str(folder / "digits.npz"), str(folder / "run")
    if run(["fit", data, "-k", "10", "--method", "pcx", "--out", out, "--quiet", *settings]):
        raise SystemExit("The digits could not be fitted.")
    program, page = Program(out, "--image-shape", "8x8"), Page(folder, 1280, 800)
    try:
        page.open(program.link)
        page.press('[data-cluster="2"]')
        page.run("document.documentElement.style.scrollbarWidth = 'none'; window.scrollTo(0, 0)")
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            time.sleep(2)  # pictures of rows come in one by one, and colours change gradually
            page.driver.save_screenshot(str(STATIC / f"explorer-{scheme}.png"))
    finally:
        page.driver.quit()
        program.kill()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        take(Path(place))
