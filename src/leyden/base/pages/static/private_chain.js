/**
 * Payments of a private chain's customer to a node: any invoice that is pasted, or the one
 * that this page shows (`#invoice`). Other chains have neither.
 */

const $ = (id) => document.getElementById(id);
const { pay: path, token } = $("private-chain").dataset;
const shown = $("invoice");

/** Have the customer pay an invoice; gives the satoshis, or 0 while it is on its way. */
async function pay(invoice) {
  const answer = await fetch(path, { method: "POST", body: new URLSearchParams({ token, invoice }) });
  if (answer.ok) return (await answer.json()).paid_sats;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  throw new Error(page.querySelector("[role=alert]")?.textContent ?? "The payment failed.");
}

async function tell(invoice) {
  $("test-told").textContent = "Paying…";
  try {
    const paid = await pay(invoice);
    $("test-told").textContent = paid
      ? `Paid ${paid.toLocaleString("en")} sat.`
      : "The payment is on its way.";
  } catch (error) {
    $("test-told").textContent = error.message;
  }
}

$("test-pay").addEventListener("submit", (event) => {
  event.preventDefault();
  tell($("test-invoice").value.trim());
});

$("test-receive").hidden = shown === null;
$("test-receive").addEventListener("click", () => {
  const invoice = shown.textContent.trim();
  if (invoice) tell(invoice);
  else $("test-told").textContent = "Create an invoice first.";
});
