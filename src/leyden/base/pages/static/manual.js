// The reference, made quicker: search, one language at a time, and requests that are sent.
// Without scripts everything stands on the page all the same.

const TOKEN = "X-SERVICE-AUTH";
let key = ""; // in memory only: gone when the page is
let organization = "";

for (const part of document.querySelectorAll("[data-origin]")) {
  part.textContent = location.origin;
}

// On a narrow screen the contents begin closed.
const contents = document.querySelector(".contents");
if (matchMedia("(max-width: 56rem)").matches) contents.open = false;
contents.addEventListener("click", (event) => {
  if (event.target.closest("a") && matchMedia("(max-width: 56rem)").matches) contents.open = false;
});

// One language at a time, the same one everywhere.
const LANGUAGES = ["curl", "Python", "JavaScript"];

function choose(language) {
  for (const part of document.querySelectorAll("[data-language]")) {
    part.hidden = part.dataset.language !== language;
  }
  for (const tab of document.querySelectorAll(".languages [role=tab]")) {
    const isChosen = tab.dataset.choose === language;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
  }
}

for (const [number, row] of [...document.querySelectorAll(".languages")].entries()) {
  const tabs = document.createElement("div");
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-label", "Language");
  for (const part of row.querySelectorAll("[data-language]")) {
    const language = part.dataset.language;
    part.querySelector("h4").remove();
    part.id = `panel-${number}-${language}`;
    part.setAttribute("role", "tabpanel");
    part.setAttribute("aria-label", language);
    const tab = document.createElement("button");
    tab.type = "button";
    tab.textContent = language;
    tab.dataset.choose = language;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", part.id);
    tabs.append(tab);
  }
  row.prepend(tabs);
}

document.addEventListener("click", (event) => {
  const tab = event.target.closest("[data-choose]");
  if (!tab) return;
  const before = tab.getBoundingClientRect().top;
  choose(tab.dataset.choose);
  scrollBy(0, tab.getBoundingClientRect().top - before); // what is read stays where it is
});

document.addEventListener("keydown", (event) => {
  const tab = event.target.closest?.("[data-choose]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!tab || !step) return;
  const at = LANGUAGES.indexOf(tab.dataset.choose) + step + LANGUAGES.length;
  const language = LANGUAGES[at % LANGUAGES.length];
  choose(language);
  tab.parentElement.querySelector(`[data-choose="${language}"]`).focus();
});

choose(LANGUAGES[0]);

// Search hides what does not have all of the words.
const search = document.getElementById("search");

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of document.querySelectorAll(".operation")) {
    const text = section.querySelector(".about").textContent.toLowerCase();
    section.hidden = !words.every((word) => text.includes(word));
    found += section.hidden ? 0 : 1;
    const link = document.querySelector(`#operations a[href="#${section.id}"]`);
    link.parentElement.hidden = section.hidden;
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector(".operation:not([hidden])");
  }
  for (const list of document.querySelectorAll("#operations ul")) {
    list.hidden = !list.querySelector("li:not([hidden])");
    list.previousElementSibling.hidden = list.hidden;
  }
  for (const chapter of document.querySelectorAll(".chapter")) chapter.hidden = words.length > 0;
  const all = document.querySelectorAll(".operation").length;
  document.getElementById("found").textContent = words.length ? `${found} of ${all} operations` : "";
}

search?.addEventListener("input", find);
search?.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    search.value = "";
    find();
  } else if (event.key === "Enter") {
    document.querySelector("#operations li:not([hidden]) a")?.click();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || !search || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  contents.open = true;
  search.focus();
});

// The key: asked for its organization, which then stands in every form.
const keyForm = document.getElementById("key-form");

async function call(method, path, { query = {}, headers = {}, body } = {}) {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const sent = { [TOKEN]: key, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  return fetch(url, { method, headers: sent, body, credentials: "omit", cache: "no-store" });
}

function know(found) {
  organization = found?.organization_name ?? "";
  for (const field of document.querySelectorAll('input[name="organization_id"]')) {
    field.value = found?.organization_id ?? "";
  }
  document.getElementById("forget").hidden = !found;
}

keyForm?.addEventListener("submit", async (event) => {
  event.preventDefault();
  event.stopImmediatePropagation();
  key = document.getElementById("key").value.trim();
  const status = document.getElementById("key-status");
  try {
    const answer = await call("GET", "/key");
    const found = await answer.json();
    know(answer.ok ? found : null);
    status.textContent = answer.ok
      ? `Key "${found.key_name}" of ${found.organization_name}, scopes: ${found.scopes.join(", ")}.`
      : `${answer.status}: ${found.message}`;
  } catch {
    know(null);
    status.textContent = "Could not reach the platform. Check your connection and try again.";
  }
});

document.getElementById("forget")?.addEventListener("click", () => {
  key = "";
  keyForm.reset();
  know(null);
  document.getElementById("key-status").textContent = "The key was removed from this page.";
});

// A request that changes something is confirmed first. These have a body, and change nothing.
const READING = ["/flow/quote", "/flow/status"];
const dialog = document.getElementById("confirm");

function confirmed(request) {
  document.getElementById("confirm-request").textContent = request;
  document.getElementById("confirm-organization").textContent = organization || "your organization";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "send"), { once: true });
  });
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function read(form) {
  let path = form.dataset.path;
  const parts = { query: {}, headers: {}, body: undefined };
  for (const field of form.querySelectorAll("[data-in]")) {
    const value = field.value.trim();
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(value));
    else if (field.dataset.in === "body") parts.body = value || undefined;
    else if (value && field.dataset.in === "query") parts.query[field.name] = value;
    else if (value) parts.headers[field.name] = value;
  }
  return [path, parts];
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest(".try form");
  if (!form) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // it is sent as often as one likes
  const status = form.parentElement.querySelector(".status");
  const result = form.parentElement.querySelector(".result");
  if (!key) {
    status.textContent = "Enter your API key at the top of this page first.";
    document.getElementById("key").focus();
    return;
  }
  const { method } = form.dataset;
  const [path, parts] = read(form);
  const changes = method !== "GET" && !READING.includes(path);
  if (changes && !(await confirmed(`${method} ${path}`))) return;
  status.textContent = "Sending…";
  result.hidden = true;
  const began = performance.now();
  try {
    const answer = await call(method, path, parts);
    const text = await answer.text();
    const wait = answer.headers.get("retry-after");
    status.textContent = `${answer.status} in ${Math.round(performance.now() - began)} ms`
      + (wait ? `, retry after ${wait} s` : "");
    result.firstElementChild.textContent = pretty(text);
    result.hidden = false;
  } catch {
    status.textContent = "Could not reach the platform. Check your connection and try again.";
  }
}, true);
