"use strict";
for (const tabled of document.querySelectorAll(".tabled")) {
  const body = tabled.querySelector("tbody");
  for (const cell of tabled.querySelectorAll("[data-value]")) cell.title = cell.dataset.value;
  const heads = [...tabled.querySelectorAll("th")];
  const text = (row, at) => row.cells[at].textContent;
  const value = (row, at) => row.cells[at].dataset.value;
  const compare = (one, other, at) => {
    const [a, b] = [value(one, at), value(other, at)];
    if (a !== undefined && b !== undefined) return Number(a) - Number(b);
    if (a !== undefined || b !== undefined) return a !== undefined ? -1 : 1;
    return text(one, at).localeCompare(text(other, at), "en", { numeric: true });
  };
  heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => {
    const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    body.append(...[...body.rows].sort((one, other) => sign * compare(one, other, at)));
  }));
  const filter = tabled.querySelector(".filter");
  if (!filter) continue;
  const count = tabled.querySelector(".count");
  const shown = () => [...body.rows].filter((row) => !row.hidden);
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    count.textContent = `${shown().length} of ${body.rows.length} rows`;
  });
  tabled.querySelector(".copy").addEventListener("click", async () => {
    const lines = [tabled.querySelector("thead tr"), ...shown()];
    const clean = (cell) => cell.dataset.value ?? cell.textContent.replace(/\s+/g, " ").trim();
    const copied = lines.map((row) => [...row.cells].map(clean).join("\t")).join("\n");
    try {
      await navigator.clipboard.writeText(copied);
      count.textContent = `${lines.length - 1} rows copied`;
    } catch {
      count.textContent = "the browser does not allow copying";
    }
  });
}
const reveal = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
