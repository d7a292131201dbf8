"use strict";
(() => {
  const PAGE = 50; // rows that are drawn at a time: drawing, not filtering, costs time
  const WORDS = { p: "pass", f: "fail", e: "error", x: "excused", n: "n/a", "-": "not run" };
  const TONES = { p: "good", f: "bad", e: "bad", x: "fair" };
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const checks = data.checks.map(([id, operator, kind, why, cites, letters, notes = []]) => ({
    id, operator, kind, why: data.whys[why], letters, notes,
    text: [id, data.whys[why], cites, ...notes.map((note) => note[1])].join("\n").toLowerCase(),
  }));
  const red = (check) => check.notes.length > 0;
  checks.sort((a, b) => red(b) - red(a)); // what is red comes first, else by name
  const fields = ["query", "operator", "kind", "backend", "verdict"].filter(byId);
  let found = checks;
  let drawn = 0;

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function row(check) {
    const made = element("tr");
    for (const letter of check.letters) {
      const cell = element("td");
      cell.append(element("span", WORDS[letter], `badge ${TONES[letter] || "none"}`));
      made.append(cell);
    }
    const name = element("td", "", "id");
    const anchor = check.notes.map((note) => note[2]).find(Boolean);
    if (anchor) {
      const link = element("a", check.id);
      link.href = `#${anchor}`;
      name.append(link);
    } else {
      name.append(check.id);
    }
    const reason = element("td", check.why);
    for (const note of check.notes) reason.append(element("span", note[1], "line"));
    made.append(name, reason);
    return made;
  }

  function more() {
    const rows = document.createDocumentFragment();
    for (const check of found.slice(drawn, drawn + PAGE)) rows.append(row(check));
    drawn = Math.min(drawn + PAGE, found.length);
    byId("rows").append(rows);
    const left = found.length - drawn;
    byId("more").hidden = left === 0;
    byId("more").textContent = `Show ${Math.min(left, PAGE)} more of ${left}`;
  }

  function filter() {
    const chosen = Object.fromEntries(fields.map((name) => [name, byId(name).value]));
    const words = chosen.query.toLowerCase().split(/\s+/).filter(Boolean);
    const backend = chosen.backend || "";
    const wanted = (letter) => chosen.verdict.includes(letter);
    found = checks.filter((check) =>
      (chosen.operator === "" || check.operator === Number(chosen.operator)) &&
      (chosen.kind === "" || check.kind === Number(chosen.kind)) &&
      (chosen.verdict === "" || (backend === "" ? [...check.letters].some(wanted) : wanted(check.letters[backend]))) &&
      words.every((word) => check.text.includes(word)));
    drawn = 0;
    byId("rows").replaceChildren();
    more();
    byId("listed").hidden = found.length === 0;
    const counted = (number) => number.toLocaleString("en");
    byId("count").textContent = `${counted(found.length)} of ${counted(checks.length)} checks`;
  }

  function options(name, texts) {
    const numbered = texts.map((text, number) => [text, number]).sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [text, number] of numbered) {
      const option = element("option", text);
      option.value = number;
      byId(name).append(option);
    }
  }

  function choose(cell) {
    const { operator, kind, backend, verdict } = cell.dataset;
    byId("query").value = "";
    byId("operator").value = String(data.operators.indexOf(operator));
    byId("kind").value = String(data.kinds.indexOf(kind));
    byId("verdict").value = verdict ? "fe" : "";
    if (byId("backend")) byId("backend").value = backend;
    filter();
  }

  function reveal() {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    }
  }

  function copier(command) {
    const button = element("button", "Copy", "copy");
    button.type = "button";
    const code = command.querySelector("code");
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
    command.append(button);
  }

  options("operator", data.operators);
  options("kind", data.kinds);
  for (const name of fields) byId(name).addEventListener("input", filter);
  byId("more").addEventListener("click", more);
  for (const cell of document.querySelectorAll("a.score")) cell.addEventListener("click", () => choose(cell));
  document.querySelectorAll(".command").forEach(copier);
  addEventListener("hashchange", reveal);
  addEventListener("click", (event) => {
    // A link to the place that the address names already changes no hash.
    const link = event.target.closest("a[href^='#failure-']");
    if (link && link.hash === location.hash) reveal();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      byId("query").focus();
    }
  });
  byId("filter").hidden = false;
  filter();
  reveal();
})();
