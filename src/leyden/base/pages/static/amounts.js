// Amounts get their separators as they are typed. The server takes them with or without.

const GROUP = /\B(?=(\d{3})+$)/g;

function write(field) {
  if (/[^\d,\s]/.test(field.value)) return; // no amount: the server says what is wrong
  const ahead = field.value.slice(0, field.selectionStart).replace(/\D/g, "").length;
  const digits = field.value.replace(/\D/g, "");
  const text = digits.replace(GROUP, ",");
  if (text === field.value) return;
  field.value = text;
  let place = 0;
  for (let passed = 0; passed < ahead; place += 1) if (text[place] !== ",") passed += 1;
  field.setSelectionRange(place, place);
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-amount]")) write(event.target);
});
