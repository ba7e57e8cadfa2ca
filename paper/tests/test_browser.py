"""The page in a real browser, without a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

import synthetic
from sbp_paper.report.page import page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

FIGURES = ("plot-fig1", "plot-fig2", "plot-fig3", "plot-fig4", "plot-forest", "plot-runtime", "plot-scaling")

# Appended for the test: collects errors from the first script on, and reports what was drawn and loaded.
LISTEN = """<script>window.failures = []; window.onerror = (message) => { window.failures.push(String(message)); };
window.addEventListener("unhandledrejection", (event) => window.failures.push(String(event.reason)));</script>"""
REPORT = """<script>
function tell() {
  const drawn = {};
  document.querySelectorAll(".drawing").forEach((place) => {
    drawn[place.id] = { svgs: place.querySelectorAll("svg.main-svg").length,
                        traces: place.querySelectorAll("g.trace").length,
                        panels: place.querySelectorAll("g.subplot").length,
                        width: place.getBoundingClientRect().width };
  });
  const report = { failures: window.failures, drawn, page: document.documentElement.scrollWidth,
                   loaded: performance.getEntriesByType("resource").map((entry) => entry.name),
                   marked: document.documentElement.dataset.drawn || "" };
  document.documentElement.dataset.report = JSON.stringify(report);
}
const waiting = setInterval(() => {
  if (document.documentElement.dataset.drawn) { clearInterval(waiting); ACTION }
}, 50);
</script>"""


def browse(folder, content, *options, action="tell();"):
    path = folder / "page.html"
    content = content.replace("<head>", "<head>" + LISTEN, 1)
    path.write_text(content.replace("</body>", REPORT.replace("ACTION", action) + "</body>"), encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000",
        f"--user-data-dir={folder / 'profile'}", "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND",
        *options, path.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout


def report(dom):
    (found,) = re.findall(r'data-report="([^"]*)"', dom[: dom.index("<head>")])
    return json.loads(found.replace("&quot;", '"').replace("&amp;", "&"))


@pytest.fixture(scope="module")
def content():
    return page(synthetic.records(), synthetic.ABOUT)


@pytest.mark.parametrize("width", [1200, 500])
def test_every_figure_is_drawn_without_an_error_and_without_a_network(tmp_path, content, width):
    found = report(browse(tmp_path, content, f"--window-size={width},900", "--dump-dom"))
    assert found["failures"] == []
    assert found["loaded"] == []
    assert set(found["drawn"]) == set(FIGURES)
    for figure in found["drawn"].values():
        assert figure["svgs"] >= 1
        assert figure["traces"] >= 2
        assert figure["width"] <= width
    assert found["drawn"]["plot-fig2"]["panels"] == 3
    assert found["page"] <= width  # nothing makes the page itself scroll sideways


def test_a_name_in_the_legend_hides_its_curves_in_all_panels(tmp_path, content):
    action = """
      const place = document.getElementById("plot-fig2");
      const shown = () => place.querySelectorAll("g.trace").length;
      const before = shown();
      const name = [...place.querySelectorAll("g.traces")].find((g) => g.textContent === "Pegasos");
      const toggle = name.querySelector(".legendtoggle");
      for (const kind of ["mousedown", "mouseup"]) toggle.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
      setTimeout(() => { window.failures.push(before - shown()); tell(); }, 1500);
    """
    found = report(browse(tmp_path, content, "--window-size=1200,900", "--dump-dom", action=action))
    assert found["failures"] == [9]  # in each of three panels: the curve, its band and its mark


def test_the_error_axis_can_be_made_logarithmic_and_linear_again(tmp_path, content):
    action = """
      const place = document.getElementById("plot-fig2");
      const button = document.querySelector("button[data-scale=plot-fig2]");
      const kinds = () => ["yaxis", "yaxis2", "yaxis3"].map((k) => place.layout[k].type);
      const range = JSON.stringify(place.layout.yaxis.range);
      button.click();
      setTimeout(() => {
        window.failures.push(kinds());
        button.click();
        setTimeout(() => {
          window.failures.push(kinds(), JSON.stringify(place.layout.yaxis.range) === range);
          tell();
        }, 1000);
      }, 1000);
    """
    found = report(browse(tmp_path, content, "--window-size=1200,900", "--dump-dom", action=action))
    assert found["failures"] == [["log"] * 3, ["linear"] * 3, True]


def test_an_error_in_a_script_would_be_noticed(tmp_path, content):
    broken = content.replace("</body>", "<script>nothing.here();</script></body>", 1)
    found = report(browse(tmp_path, broken, "--dump-dom"))
    assert any("nothing is not defined" in failure for failure in found["failures"])


def test_the_page_is_not_blank(tmp_path, content):
    picture = tmp_path / "page.png"
    browse(tmp_path, content, "--window-size=1200,5000", f"--screenshot={picture}")
    from matplotlib.image import imread

    pixels = (255 * imread(picture)[..., :3]).round().astype(int)
    assert pixels.shape[:2] == (5000, 1200)
    drawn = (pixels != pixels[0, 0]).any(axis=2)
    assert 0.02 < drawn.mean() < 0.9
    blue = (abs(pixels - [0x0F, 0x7F, 0xC4]).max(axis=2) < 12).sum()
    assert blue > 500  # SBP's curves
