// What amounts are worth, beside their satoshis: those marked `data-worth`, of a page or of
// a field. The price is the operator's; it was known when the page was loaded.

const { price, currency } = document.documentElement.dataset;
const KNOWN_MS = 600_000; // then it may have changed too much
const written = new Intl.NumberFormat(undefined, { style: "currency", currency });
let isKnown = true;

function worth(text) {
  const [, digits] = text.match(/^([\d,]+(?:\.\d+)?)(?: sat)?$/) ?? [];
  if (!isKnown || digits === undefined) return "";
  return ` ≈ ${written.format((Number(digits.replaceAll(",", "")) * price) / 100_000_000)}`;
}

function show() {
  for (const part of document.querySelectorAll("[data-worth]")) {
    const text = worth((part.value ?? part.textContent).trim());
    if (!part.nextElementSibling?.classList.contains("worth")) {
      const beside = document.createElement("span");
      beside.className = "worth quiet small";
      part.after(beside);
    }
    const beside = part.nextElementSibling;
    if (beside.textContent !== text) beside.textContent = text;
  }
}

new MutationObserver(show).observe(document.body, { subtree: true, childList: true, characterData: true });
document.addEventListener("input", show);
setTimeout(() => {
  isKnown = false;
  show();
}, KNOWN_MS);
show();
