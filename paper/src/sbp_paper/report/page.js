// Draws each figure from the data beside it; follows the reader's light or dark setting; stacks panels on a narrow screen.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 720px)");
  const figures = {};

  const axes = (layout, kind) => Object.keys(layout).filter((key) => new RegExp("^" + kind + "axis\\d*$").test(key));

  function colours(layout) {
    const ink = dark.matches ? "#cfd5db" : "#3b434c";
    const grid = dark.matches ? "#2c333b" : "#e6e9eb";
    const changes = { "font.color": ink, "hoverlabel.namelength": -1 };
    for (const key of axes(layout, "x").concat(axes(layout, "y"))) {
      changes[key + ".gridcolor"] = grid;
      changes[key + ".linecolor"] = dark.matches ? "#59636e" : "#9aa3ab";
      changes[key + ".tickcolor"] = dark.matches ? "#59636e" : "#9aa3ab";
    }
    return changes;
  }

  // Beside each other as made, or below each other: columns keep their order, rows within a column stay together.
  function places(original) {
    const changes = {};
    const xs = axes(original, "x");
    const columns = [...new Set(xs.map((key) => original[key].domain[0]))].sort((a, b) => a - b);
    const stacked = narrow.matches && columns.length > 1;
    changes.height = original.height * (stacked ? 0.78 * columns.length : 1) + (narrow.matches ? 60 : 0);
    const share = 1 / columns.length;
    for (const key of xs) {
      const column = columns.indexOf(original[key].domain[0]);
      const yKey = key.replace("x", "y");
      const height = original[yKey].domain;
      const bottom = 1 - share * (column + 1);
      const room = share * (stacked ? 0.74 : 1);
      const lift = stacked ? share * 0.13 : 0;
      changes[key + ".domain"] = stacked ? [0, 1] : original[key].domain;
      changes[yKey + ".domain"] = stacked ? height.map((h) => bottom + lift + room * h) : height;
    }
    changes["legend.y"] = stacked ? 1.01 : (original.legend || {}).y;
    return changes;
  }

  function draw(source) {
    const place = document.getElementById(source.dataset.figure);
    const figure = JSON.parse(source.textContent);
    const original = JSON.parse(JSON.stringify(figure.layout));
    figures[place.id] = { place, original };
    return Plotly.newPlot(place, figure.data, figure.layout, window.plotConfiguration)
      .then(() => Plotly.relayout(place, { ...colours(original), ...places(original) }));
  }

  function again() {
    for (const { place, original } of Object.values(figures)) {
      Plotly.relayout(place, { ...colours(original), ...places(original) });
    }
  }

  function changeScale(button) {
    const { place, original } = figures[button.dataset.scale];
    const logarithmic = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(logarithmic));
    const changes = {};
    for (const key of axes(original, "y")) {
      changes[key + ".type"] = logarithmic ? "log" : "linear";
      if (logarithmic) changes[key + ".autorange"] = true;
      else changes[key + ".range"] = original[key].range.slice();
    }
    // Plotly takes a label's height on a logarithmic axis as an exponent.
    (original.annotations || []).forEach((label, k) => {
      if (/^y\d*$/.test(label.yref)) changes[`annotations[${k}].y`] = logarithmic ? Math.log10(label.y) : label.y;
    });
    Plotly.relayout(place, changes);
  }

  Promise.all([...document.querySelectorAll("script[data-figure]")].map(draw)).then(() => {
    document.querySelectorAll("button[data-scale]").forEach((button) => {
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => changeScale(button));
    });
    dark.addEventListener("change", again);
    narrow.addEventListener("change", again);
    document.documentElement.dataset.drawn = "true";
  });
})();
