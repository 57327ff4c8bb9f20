(function () {
  const report = JSON.parse(document.getElementById("report-data").textContent);
  const mapPlot = document.getElementById("map-plot");
  const landmarkPlot = document.getElementById("landmark-plot");
  const curvePlots = Array.from(document.querySelectorAll(".plot.curve"));
  const chipGroups = Array.from(document.querySelectorAll(".chips"));
  const { narrow, dark, config, colour, theme, colorbar } = coteriePlots;
  const buttons = ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"];

  function drawMap() {
    const figure = report.map;
    const plane = document.querySelector("input[name=layout]:checked");
    report.map.places[plane ? Number(plane.value) : 0].forEach(function (place, t) { Object.assign(figure.data[t], place); });
    figure.data[0].marker.colorbar = colorbar("confidence");
    figure.data[1].marker.line.color = colour("--ink");
    figure.data[1].marker.color = colour("--ink");
    // A finger that scrolls the page must not drag the map.
    const layout = Object.assign({}, figure.layout, theme(), { dragmode: narrow.matches ? false : "pan" });
    layout.margin = Object.assign({}, layout.margin, { b: figure.data[0].marker.showscale ? 56 : 10 });
    return Plotly.react(mapPlot, figure.data, layout, coteriePlots.mapOptions(buttons));
  }

  // Only a model with landmarks has their graph.
  function drawLandmarks() {
    const figure = report.landmarks;
    if (!figure) return;
    figure.data[0].line = { color: colour("--band"), width: 1 };
    const layout = Object.assign({}, figure.layout, theme(), { dragmode: narrow.matches ? false : "pan" });
    Plotly.react(landmarkPlot, figure.data, layout, coteriePlots.mapOptions(buttons));
  }

  function drawCurves() {
    curvePlots.forEach(function (plot, i) {
      const figure = report.curves[i];
      figure.data[0].line = { color: colour("--accent"), width: 2 };
      figure.data[0].marker = { color: colour("--accent") };
      figure.layout.shapes.forEach(function (band) { band.fillcolor = colour("--band"); });
      const layout = Object.assign({}, figure.layout, theme(), { dragmode: false });
      const lines = { gridcolor: colour("--line"), linecolor: colour("--line") };
      ["xaxis", "yaxis"].forEach(function (axis) { layout[axis] = Object.assign({}, layout[axis], lines); });
      Plotly.react(plot, figure.data, layout, config);
    });
  }

  function pressed(group) {
    return Array.from(group.querySelectorAll("[aria-pressed=true]")).map(function (button) {
      return Number(button.dataset.group);
    });
  }

  // Dim every mark whose group is not pressed; no group pressed means all are shown.
  function highlight(mode) {
    const group = chipGroups.find(function (chips) { return chips.dataset.mode === mode; });
    const chosen = new Set(group ? pressed(group) : []);
    report.map.data.forEach(function (trace, t) {
      if (chosen.size === 0) {
        delete trace.selectedpoints;
        return;
      }
      trace.selectedpoints = [];
      report.map.groups[mode][t].forEach(function (member, i) {
        if (chosen.has(member)) trace.selectedpoints.push(i);
      });
    });
  }

  function colourBy(mode) {
    chipGroups.forEach(function (chips) { chips.hidden = chips.dataset.mode !== mode; });
    Object.assign(report.map.data[0].marker, report.map.modes[mode]);
    highlight(mode);
    drawMap();
    const label = mapPlot.getAttribute("aria-label").replace(/coloured by .*/, "coloured by " + mode);
    mapPlot.setAttribute("aria-label", label);
  }

  function currentMode() {
    return document.querySelector("input[name=colour]:checked").value;
  }

  chipGroups.forEach(function (chips) {
    chips.addEventListener("click", function (event) {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.classList.contains("clear")) {
        chips.querySelectorAll("[aria-pressed]").forEach(function (b) { b.setAttribute("aria-pressed", "false"); });
      } else {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      }
      colourBy(currentMode());
    });
  });

  document.querySelectorAll("input[name=layout]").forEach(function (radio) {
    radio.addEventListener("change", drawMap);
  });

  document.querySelectorAll("input[name=colour]").forEach(function (radio) {
    radio.addEventListener("change", function () { colourBy(radio.value); });
  });

  function draw() {
    colourBy(currentMode());
    drawLandmarks();
    drawCurves();
  }

  // A plot that is folded away has no size to be drawn in.
  document.querySelectorAll("details").forEach(function (part) {
    part.addEventListener("toggle", function () { if (part.open && part.querySelector(".curve")) drawCurves(); });
  });
  dark.addEventListener("change", draw);
  narrow.addEventListener("change", draw);
  draw();
  document.documentElement.dataset.ready = "yes";
})();
