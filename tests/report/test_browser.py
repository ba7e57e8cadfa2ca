"""The page in a real browser, without a network: at desktop and phone width, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import warnings
from html import unescape

import numpy as np
import pytest
from sklearn.datasets import load_digits

from slackwater import SBPClassifier

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="REPORT NOT SEEN IN A BROWSER: there is no Chromium here")

SCHEMES = {"dark": 0, "light": 1}  # Blink's numbers
LONG = "a_label_without_any_place_to_break_it_" * 4

# The page itself has no script: this one is the test's, and puts what it finds where --dump-dom shows it. A phone's
# width is that of a frame, since a window of Chromium is never narrower than 500 pixels.
LOOK = """<script>
const look = (page) => ({
  width: page.defaultView.innerWidth, content: page.documentElement.scrollWidth,
  ground: page.defaultView.getComputedStyle(page.body).backgroundColor,
  ink: page.defaultView.getComputedStyle(page.body).color,
  charts: [...page.querySelectorAll("svg.chart")].map((chart) => chart.getBoundingClientRect().width),
  outside: [...page.querySelectorAll("p, h1, h2, dl, figure, .scroll")]
    .filter((each) => each.getBoundingClientRect().right > page.defaultView.innerWidth + 0.5)
    .map((each) => each.className),
  texts: Math.min(...[...page.querySelectorAll("svg.chart text")].map((each) => each.getBoundingClientRect().height)),
  loaded: page.defaultView.performance.getEntriesByType("resource").map((entry) => entry.name),
});
addEventListener("load", () => setTimeout(() => {
  document.documentElement.dataset.found = JSON.stringify(look(document.querySelector("iframe").contentDocument));
}, 200));
</script>"""


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Ten classes, one of them with a label that nothing can break, and a history."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16.0, np.array([LONG, *map(str, range(1, 10))])[y[:600]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SBPClassifier(0.05, max_iter=100).fit(X[:300], y[:300])
    model.report(X[300:], y[300:], path, title="Digits " + LONG)
    return path.read_text(encoding="utf-8")


def seen(folder, content, width, scheme):
    (folder / "page.html").write_text(content, encoding="utf-8")
    frame = f'<iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>'
    (folder / "frame.html").write_text(f"<!DOCTYPE html><html><head>{LOOK}</head><body>{frame}</body></html>")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        "--disable-background-networking", "--allow-file-access-from-files", "--virtual-time-budget=10000",
        f"--user-data-dir={folder / 'profile'}", "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", "--window-size=1400,1000", "--dump-dom",
        (folder / "frame.html").as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout
    (found,) = re.findall(r'data-found="([^"]*)"', dom)
    return json.loads(unescape(found))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen_and_nothing_is_loaded(tmp_path, content, width, scheme):
    found = seen(tmp_path, content, width, scheme)
    assert found["width"] == width
    assert found["content"] <= width
    assert found["outside"] == []
    assert found["loaded"] == []
    assert len(found["charts"]) >= 5
    assert all(300 < chart <= width for chart in found["charts"])
    assert found["texts"] > 9  # pixels of a letter's box: labels of charts can still be read on a phone


def test_light_and_dark_have_grounds_and_inks_of_their_own(tmp_path, content):
    grounds, inks = [], []
    for scheme in SCHEMES:
        found = seen(tmp_path, content, 1280, scheme)
        grounds.append(_brightness(found["ground"]))
        inks.append(_brightness(found["ink"]))
    assert grounds[0] < 60 < 200 < grounds[1]
    assert inks[1] < 60 < 200 < inks[0]


def test_a_page_that_is_too_wide_would_be_noticed(tmp_path, content):
    broken = content.replace("<main>", '<main><p style="width:900px">wide</p>', 1)
    found = seen(tmp_path, broken, 390, "light")
    assert found["content"] > 390
    assert found["outside"] == [""]


def _brightness(colour):
    return np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]])
