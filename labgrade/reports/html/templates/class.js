"use strict";
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.classList.contains("number");
      const rows = [...body.rows].sort((one, other) => {
        const [a, b] = [key(one, column), key(other, column)];
        if (numeric && (a === "") !== (b === "")) return a === "" ? 1 : -1;
        const order = numeric ? a - b : a.localeCompare(b);
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
}
for (const find of document.querySelectorAll(".find")) {
  const table = document.getElementById(find.dataset.for);
  const [input, output] = [find.querySelector("input"), find.querySelector("output")];
  find.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLocaleLowerCase();
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.cells[0].textContent.toLocaleLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    output.textContent = wanted ? `${shown} of ${table.tBodies[0].rows.length}` : "";
  });
}
