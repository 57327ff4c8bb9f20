"""The explorer in headless Chromium, for the benchmark and for the tests."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from benchmarks.records import peak_mb

_PATIENCE = 600


class Program:
    """`coterie explore` in a new process, at a terminal."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "coterie", "explore", *map(str, arguments)]
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        keyboard, keys = pty.openpty()
        self._keyboard = os.fdopen(keyboard, "wb", buffering=0)
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=keys, text=True, env=environment
        )
        os.close(keys)
        self.link = self._printed_link()

    def another_link(self):
        """Press Enter, and return the link that it prints."""
        self._keyboard.write(b"\n")
        return self._printed_link()

    def _printed_link(self):
        line = self._process.stdout.readline()
        while line and not line.startswith("Open "):
            line = self._process.stdout.readline()
        return line.removeprefix("Open ").strip()

    def peak_mb(self):
        """Return the most memory the process has had."""
        return peak_mb(self._process.pid)

    def cpu_seconds(self):
        """Return the CPU seconds the process has used: fields 14 and 15 of its status, the name left out."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        """End it as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        self._keyboard.close()


class Page:
    """A browser at the page.

    Parameters
    ----------
    downloads : Path
    width, height : int
    dark : bool
    """

    def __init__(self, downloads: Path, width=1280, height=900, dark=False):
        options = webdriver.ChromeOptions()
        options.binary_location = _found("chromium")
        for flag in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            f"--window-size={width},{height}",
        ):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(_found("chromedriver"))
        self.downloads, self.driver = downloads, webdriver.Chrome(options, service)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, link):
        """Open a link and wait until corrections can be made and the good map is drawn."""
        self.driver.get(link)
        self.settled()

    def settled(self):
        """Wait until the page shows all that was prepared."""
        self.until(lambda: self.run("return document.documentElement.dataset.ready") == "yes")
        self.until(lambda: self.state()["refine"]["ready"] and self.state()["map_settled"])
        self.until(
            lambda: (
                self.run("return document.documentElement.dataset.version") == str(self.state()["version"])
            )
        )

    def until(self, condition, seconds=_PATIENCE):
        """Wait for something to become true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except WebDriverException:
                pass
            time.sleep(0.1)
        raise AssertionError(f"This did not happen; the page says: {self.status}")

    def run(self, script, *arguments):
        """Run a script in the page; a promise is waited for."""
        return self.driver.execute_script(script, *arguments)

    def state(self):
        """Return what the server would tell the page now."""
        return self.run("return fetch('/api/state').then((answer) => answer.json())")

    @property
    def status(self):
        """What the page says."""
        return self.driver.find_element(By.ID, "status").text

    def all(self, selector):
        """Return all elements that a selector finds."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def press(self, selector):
        """Press what a selector finds, as soon as it is there; again where the page replaced it meanwhile."""
        self.until(lambda: self._pressed(selector))

    def _pressed(self, selector):
        found = self.all(selector)
        if not found or not found[0].is_enabled():
            return False
        self.run("arguments[0].scrollIntoView({block: 'center'})", found[0])
        found[0].click()
        return True

    def choose(self, selector, value):
        """Choose an option of a list."""
        self.until(lambda: self.all(selector))
        Select(self.all(selector)[0]).select_by_value(value)

    def after(self, act):
        """Do something that changes what is shown, and return the new state when the page shows it."""
        before = self.state()["version"]
        act()
        self.until(lambda: int(self.run("return document.documentElement.dataset.version")) > before)
        return self.state()

    def downloaded(self, name):
        """Return a downloaded file when it is whole."""
        self.until(lambda: (self.downloads / name).is_file())
        return self.downloads / name

    def colours(self):
        """Return the values that the dots of the map are coloured by."""
        return self.run("return document.getElementById('map-plot').map.colours")

    def complaints(self):
        """Return the errors in the browser's console."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


def _found(name):
    path = shutil.which(name)
    assert path, f"{name} is not installed; make test installs Debian's chromium and chromium-driver."
    return path
