"use strict";

// What the report and the local page share: plots in the colours of the page, on wide and on narrow screens.
const coteriePlots = (function () {
  const narrow = window.matchMedia("(max-width: 800px)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const config = { responsive: true, displaylogo: false, displayModeBar: false };

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Colours of the page, so that plots follow light and dark.
  function theme() {
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--soft"), family: getComputedStyle(document.body).fontFamily, size: 11 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--accent") },
      hoverlabel: {
        bgcolor: colour("--card"),
        bordercolor: colour("--line"),
        font: { color: colour("--ink"), size: 13 },
      },
    };
  }

  function colorbar(title) {
    return {
      orientation: "h", x: 0.5, xanchor: "center", y: 0, yanchor: "top", len: narrow.matches ? 0.9 : 0.4,
      thickness: 10, outlinewidth: 0, title: { text: title, side: "top" },
    };
  }

  function mapOptions(buttons) {
    return Object.assign({}, config, { displayModeBar: !narrow.matches, modeBarButtons: [buttons] });
  }

  return { narrow, dark, config, colour, theme, colorbar, mapOptions };
})();
