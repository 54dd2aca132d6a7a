// What every page may use. Nothing here is needed to use a page: it makes it quicker.

// A part that says where its changes are told is fetched anew whenever it changes.
let streams = new Map();

function listen() {
  if (document.hidden) return;
  const wanted = new Set();
  for (const part of document.querySelectorAll("[data-changes]")) {
    wanted.add(part.dataset.changes);
  }
  for (const [url, stream] of streams) {
    if (!wanted.has(url)) {
      stream.close();
      streams.delete(url);
    }
  }
  for (const url of wanted) {
    if (streams.has(url)) continue;
    const stream = new EventSource(url);
    streams.set(url, stream);
    stream.addEventListener("changed", () => {
      for (const part of document.querySelectorAll("[data-changes]")) {
        if (part.dataset.changes === url) window.htmx?.trigger(part, "changed");
      }
    });
  }
}

function hush() {
  for (const stream of streams.values()) stream.close();
  streams = new Map();
}

// Browsers open six connections to one place, all windows together: one that nobody
// looks at gives its own back, and hears what it missed when somebody does again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hush();
  else listen();
});
document.addEventListener("DOMContentLoaded", listen);
document.addEventListener("htmx:afterSettle", listen);
// A page that comes back from the browser's memory may show what is no longer so.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
window.addEventListener("pagehide", hush);

// A menu closes with Escape, and when one goes elsewhere.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Buttons that copy what stands in another element.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
});

// A row of tabs that is wider than its window begins with the one that is open.
for (const tab of document.querySelectorAll(".tabs [aria-current], .rooms [aria-current]")) {
  const row = tab.parentElement;
  row.scrollLeft = tab.offsetLeft + tab.offsetWidth - row.clientWidth;
}

// What is shown once is not asked for again by going back or loading anew: the list is.
const once = document.querySelector("[data-once]");
if (once) history.replaceState(null, "", once.dataset.once);

// A form is sent once, however often one clicks.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  if (form.method === "post" && !form.hasAttribute("hx-post")) form.dataset.sent = "1";
});

// A button that adds what stands in one element to the lines of a field.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-add]");
  if (!button) return;
  const line = document.getElementById(button.dataset.add).textContent.trim();
  const field = document.getElementById(button.dataset.to);
  const lines = field.value.split("\n").map((each) => each.trim()).filter(Boolean);
  if (!lines.includes(line)) field.value = [...lines, line].join("\n");
  field.focus();
});

// What runs out counts down.
setInterval(() => {
  for (const part of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.floor((new Date(part.dataset.until) - Date.now()) / 1000));
    const minutes = Math.floor(left / 60);
    part.textContent = minutes ? `${minutes} min ${left % 60} s` : `${left} s`;
  }
}, 1000);
