// Times are in UTC without scripts; here each is shown in the zone that the reader chose,
// or else the browser's, with UTC on hover. To the minute, as the page had it, so that a
// table's width stays.
const chosen = document.documentElement.dataset.timeZone || undefined;
const local = new Intl.DateTimeFormat("sv-SE", {
  dateStyle: "short",
  timeStyle: "short",
  timeZone: chosen,
});

function enhance() {
  for (const part of document.querySelectorAll("time[datetime]:not([data-utc])")) {
    const at = new Date(part.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    part.dataset.utc = part.textContent;
    part.title = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    part.textContent = local.format(at);
  }
  for (const part of document.querySelectorAll("[data-zone-name]")) {
    part.textContent = chosen ?? local.resolvedOptions().timeZone;
  }
}

enhance();
// What is swapped in brings its own.
document.addEventListener("htmx:afterSettle", enhance);
