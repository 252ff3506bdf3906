"use strict";
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function themed(layout) {
  const axis = given => ({...given, gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"),
    automargin: true, fixedrange: false});
  return {...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis), paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: {family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("--ink")},
    hoverlabel: {bgcolor: colour("--card"), bordercolor: colour("--line"), font: {color: colour("--ink")}},
    modebar: {bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink")},
    margin: {l: 10, r: 10, t: 10, b: 10}};
}

function draw() {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  for (const [name, figure] of Object.entries(figures)) {
    Plotly.react(document.getElementById(name), figure.data, themed(figure.layout),
      {responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]]});
  }
}

async function unpack() {
  const packed = atob(document.getElementById("plotly").textContent.trim());
  const bytes = Uint8Array.from(packed, letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

unpack().then(() => { draw(); dark.addEventListener("change", draw); }).catch(() => {
  for (const place of document.querySelectorAll(".figure")) {
    place.textContent = "This browser is too old to draw the figure; its numbers stand in the files beside this page.";
    place.style.height = "auto";
  }
});
