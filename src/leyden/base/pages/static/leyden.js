// What every page may use. Nothing here is needed to use a page: it makes it quicker.
import "./times.js";

// Guides know nobody: the theme that was chosen in the dashboard is kept for them.
const { dataset } = document.documentElement;
if (dataset.theme) localStorage.setItem("leyden-theme", dataset.theme);
else if ("theme" in dataset) localStorage.removeItem("leyden-theme");
else dataset.theme = localStorage.getItem("leyden-theme") ?? "";

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
// Nor is it in the browser's memory, from where going back would show it for a moment.
const once = document.querySelector("[data-once]");
if (once) {
  history.replaceState(null, "", once.dataset.once);
  window.addEventListener("pagehide", () => document.querySelector("main").remove());
}

// What an opened vault left is kept by a worker, while a page of this tab holds on to it;
// it is forgotten when one signs out.
if (sessionStorage.getItem("vault")) {
  import("./wallet/keeping.js").then(({ keeper }) => keeper());
}
document.addEventListener("submit", ({ target }) => {
  if (!target.matches('[action="/app/sign-out"]')) return;
  sessionStorage.removeItem("vault");
  new BroadcastChannel("signed out").postMessage("");
});
// What was just done is told once: not to who comes back, or loads the page anew.
if (performance.getEntriesByType("navigation")[0]?.type !== "navigate") {
  document.querySelector("[data-told]")?.remove();
}

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

// A link that leads to a question shows it as a dialog on top of the page it is on. If
// that fails, or the question is no longer one, the browser goes there as without scripts.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-dialog]");
  const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !plain || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  ask(link).catch(() => window.location.assign(link.href));
});

async function ask(link) {
  const answer = await fetch(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const question = answer.redirected ? null : page.getElementById("confirm");
  if (!question) throw new Error("no question");
  if (document.querySelector("dialog[open]")) return;
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "confirm-question");
  question.className = "confirm";
  dialog.append(document.adoptNode(question));
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    const opener = link.isConnected ? link : document.querySelector(`a[href="${CSS.escape(link.getAttribute("href"))}"]`);
    opener?.focus();
  });
  dialog.querySelector("[data-dismiss]").addEventListener("click", (click) => {
    click.preventDefault();
    dialog.close();
  });
  dialog.showModal();
}

// What can be folded away stays as it was left, also when its part of the page is renewed.
function refold() {
  for (const part of document.querySelectorAll("details[data-remembered]")) {
    const key = `leyden-${part.dataset.remembered}`;
    if (localStorage.getItem(key) === "closed") part.open = false;
    part.addEventListener("toggle", () => {
      if (part.open) localStorage.removeItem(key);
      else localStorage.setItem(key, "closed");
    });
  }
}

document.addEventListener("DOMContentLoaded", refold);
document.addEventListener("htmx:afterSettle", refold);

// An error begins with its field, as the API names it: mark that field, call it as its
// label does, and go there.
function point() {
  const error = document.querySelector("main > .note.bad[role=alert]");
  const [prefix, name, item] = error?.textContent.match(/^([a-z_]+)(?:\[(\d+)\])?: /) ?? [];
  const field = name && document.querySelector(`main form [name="${name}"]:not([type=hidden])`);
  if (!field) return;
  const label = field.labels?.[0]?.textContent.trim() || name;
  const line = item && field.matches("textarea") ? `, line ${Number(item) + 1}` : "";
  error.textContent = `${label}${line}: ${error.textContent.slice(prefix.length)}`;
  error.id ||= "refused";
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${error.id} ${field.getAttribute("aria-describedby") ?? ""}`.trim());
  for (let part = field.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  field.focus();
}

document.addEventListener("DOMContentLoaded", point);
