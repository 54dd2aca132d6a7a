// Times are in UTC without scripts; here each is shown in the reader's time zone, with UTC
// on hover. To the minute, as the page had it, so that a table's width stays.
const two = (number) => String(number).padStart(2, "0");

function local(at) {
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

function enhance() {
  for (const part of document.querySelectorAll("time[datetime]:not([data-utc])")) {
    const at = new Date(part.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    part.dataset.utc = part.textContent;
    part.title = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    part.textContent = local(at);
  }
}

enhance();
// What is swapped in brings its own.
document.addEventListener("htmx:afterSettle", enhance);
