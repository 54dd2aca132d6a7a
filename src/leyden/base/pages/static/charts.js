// What the charts of a page say where the pointer is, or the arrow keys.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const timeZone = document.documentElement.dataset.timeZone || undefined; // as in times.js
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone });
const day = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short", timeZone });
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23", timeZone });
const dated = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone });

/** Format bytes as pages do: 1.5 MiB. */
function size(number) {
  let unit = 0;
  for (; number >= 1024 && unit < UNITS.length - 1; unit += 1) number /= 1024;
  return `${unit ? number.toFixed(1) : number} ${UNITS[unit]}`;
}

const SHOWN = {
  block: (value) => value.toLocaleString("en"),
  bytes: size,
  "bytes/s": (value) => `${size(value)}/s`,
  cores: (value) => `${(value / 10).toFixed(1)} % of a core`,
};

function pointsOf(chart) {
  const times = chart.closest("[data-times]").dataset.times.split(",").map(Number);
  const values = chart.dataset.values.split(",");
  const span = Math.max(1, times.at(-1) - times[0]);
  return times
    .map((at, index) => ({ at, value: values[index], x: (at - times[0]) / span }))
    .filter(({ value }) => value !== "");
}

const spanOf = (part) => part.closest("[data-span]").dataset.span; // hour, day or month

function read(chart, point) {
  const time = spanOf(chart) === "hour" ? exact : dated;
  const output = chart.closest("figure").querySelector("output");
  output.dataset.latest ??= output.textContent;
  output.textContent = `${time.format(point.at * 1000)}: ${SHOWN[chart.dataset.unit](Number(point.value))}`;
  const cursor = chart.querySelector(".cursor");
  for (const end of ["x1", "x2"]) cursor.setAttribute(end, `${(point.x * 100).toFixed(1)}%`);
  cursor.removeAttribute("visibility");
  chart.dataset.at = point.at;
}

function leave(chart) {
  const output = chart.closest("figure").querySelector("output");
  if (output.dataset.latest) output.textContent = output.dataset.latest;
  chart.querySelector(".cursor").setAttribute("visibility", "hidden");
  delete chart.dataset.at;
}

const chartOf = (event) => event.target.closest?.("svg.chart");

document.addEventListener("pointermove", (event) => {
  const chart = chartOf(event);
  for (const other of document.querySelectorAll("svg.chart[data-at]")) {
    if (other !== chart && other !== document.activeElement) leave(other);
  }
  if (!chart) return;
  const { left, width } = chart.getBoundingClientRect();
  const x = (event.clientX - left) / width;
  const [nearest] = pointsOf(chart).sort((one, other) => Math.abs(one.x - x) - Math.abs(other.x - x));
  if (nearest) read(chart, nearest);
});

document.addEventListener("keydown", (event) => {
  const chart = chartOf(event);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!chart || !step) return;
  event.preventDefault();
  const points = pointsOf(chart);
  const before = points.findIndex(({ at }) => String(at) === chart.dataset.at);
  const next = before < 0 ? points.length - 1 : before + step;
  if (points[next]) read(chart, points[next]);
});

document.addEventListener("focusout", (event) => {
  const chart = chartOf(event);
  if (chart) leave(chart);
});

/** Show times in the zone that the reader chose, or the browser's; they are written in UTC. */
function localize() {
  for (const tick of document.querySelectorAll("svg.chart [data-at]")) {
    const time = spanOf(tick) === "month" ? day : clock;
    tick.textContent = time.format(new Date(tick.dataset.at));
  }
  for (const zone of document.querySelectorAll("[data-zone]")) {
    zone.textContent = `Times in ${clock.resolvedOptions().timeZone}`;
  }
}

localize();
document.addEventListener("htmx:afterSettle", localize);
