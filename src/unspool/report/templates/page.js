"use strict";
const root = document.documentElement;
const figures = JSON.parse(document.getElementById("figures").textContent);
const colour = name => getComputedStyle(root).getPropertyValue(name).trim();

function themed(layout, width) {
  const narrow = width < 500;
  const themedAxis = (name, given) => {
    const axis = {...given, gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"),
      automargin: true, title: {...(given.title ?? {}), standoff: 8}};
    if (narrow && name.startsWith("x")) axis.nticks = 4;
    return axis;
  };
  const axes = Object.fromEntries(Object.entries({xaxis: {}, yaxis: {}, ...layout})
    .filter(([name]) => /^[xy]axis\d*$/.test(name)).map(([name, axis]) => [name, themedAxis(name, axis)]));
  return {...layout, ...axes, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: {family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13, color: colour("--ink")},
    hoverlabel: {bgcolor: colour("--card"), bordercolor: colour("--line"), font: {color: colour("--ink")}, align: "left"},
    modebar: {bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink")},
    margin: {l: 10, r: 10, t: 28, b: 10}};
}

function chosen(name) {
  const field = document.querySelector(`fieldset[data-figure="${name}"] input:checked`);
  const choice = field && figures[name].choices[field.value];
  return choice && choice.of.map(at => choice.colours[at]);
}

function draw() {
  for (const [name, figure] of Object.entries(figures)) {
    const place = document.getElementById(name);
    if (!place) continue;
    const colours = chosen(name);
    const data = colours ? [{...figure.data[0], marker: {...figure.data[0].marker, color: colours}}, ...figure.data.slice(1)]
      : figure.data;
    const size = root.classList.contains("printing") ? {width: place.clientWidth, height: place.clientHeight} : {};
    Plotly.react(place, data, {...themed(figure.layout, place.clientWidth), ...size},
      {responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]]});
  }
}

// On paper a picture is as wide as the sheet leaves room for, which is known only after it is drawn.
function fitted(isFitted) {
  for (const picture of document.querySelectorAll(".figure .main-svg")) {
    if (isFitted) {
      picture.setAttribute("viewBox", `0 0 ${picture.clientWidth} ${picture.clientHeight}`);
      picture.style.width = picture.style.height = "100%";
    } else {
      picture.removeAttribute("viewBox");
      picture.style.width = picture.style.height = "";
    }
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

function sort(heading) {
  const head = heading.parentElement, at = [...head.children].indexOf(heading);
  const body = heading.closest("table").tBodies[0];
  const value = row => row.children[at].dataset.v;
  const rows = [...body.rows];
  const numeric = rows.every(row => value(row) === "" || !Number.isNaN(Number(value(row))));
  const was = heading.getAttribute("aria-sort");
  const rising = was ? was === "descending" : !numeric;
  rows.sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = numeric ? Number(a) - Number(b) : a.localeCompare(b, undefined, {numeric: true});
    return rising ? order : -order;
  });
  for (const other of head.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
  body.append(...rows);
}

function download(name) {
  const table = document.querySelector(`table[data-name="${name}"]`);
  // As results/spreadsheet.py: a text that a spreadsheet would compute is shown.
  const computes = /^'*[=+\-@\t\r\n]/, number = /^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)?$/;
  const shown = text => computes.test(text) && !number.test(text) ? `'${text}` : text;
  const quoted = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const lines = [[...table.tHead.rows[0].cells].map(cell => cell.dataset.name),
    ...[...table.tBodies[0].rows, ...(table.tFoot?.rows ?? [])].map(row => [...row.cells].map(cell => cell.dataset.v))];
  const link = document.createElement("a");
  const text = lines.map(line => line.map(text => quoted(shown(text))).join(",") + "\n").join("");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv;charset=utf-8"}));
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

document.addEventListener("click", event => {
  const button = event.target.closest("button");
  if (button?.matches("table.sorts th button")) sort(button.parentElement);
  if (button?.matches(".download")) download(button.dataset.table);
});

document.addEventListener("change", event => {
  const field = event.target.closest("fieldset[data-figure]");
  if (!field) return;
  const name = field.dataset.figure;
  for (const key of document.querySelectorAll(`[data-key="${name}"]`)) key.hidden = key.dataset.choice !== event.target.value;
  Plotly.restyle(name, {"marker.color": [chosen(name)]}, [0]);
});

unpack().then(() => {
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => { root.classList.add("printing"); draw(); fitted(true); });
  addEventListener("afterprint", () => { root.classList.remove("printing"); fitted(false); draw(); });
}).catch(error => {
  console.error(error);
  for (const place of document.querySelectorAll(".figure")) {
    place.textContent = "This browser cannot draw the figure; its numbers stand in the files beside this page.";
    place.style.height = "auto";
  }
});
