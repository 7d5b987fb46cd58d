"use strict";
(() => {
  // The JSON of everything: base64 of gzip, so that more of it fits; a promise of its text.
  const result = (async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("result").textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  })();
  const view = JSON.parse(document.getElementById("view").textContent);
  const tip = document.getElementById("tip");
  const BITS = 1 / Math.LN2;
  let unit = "nats";

  // Numbers: written in Python for nats, here the same way for either unit.
  const shown = (value, digits) => {
    if (value === "inf" || value === Infinity) return "infinite";
    const scaled = Number(value) * (unit === "bits" ? BITS : 1);
    const text = Number(scaled.toPrecision(digits));
    const size = Math.abs(text);
    return size !== 0 && (size < 1e-4 || size >= Math.max(10 ** digits, 1e6)) ? text.toExponential() : String(text);
  };
  const amount = (value, digits) => (value === "inf" ? "infinite" : `${shown(value, digits)} ${unit}`);
  const sized = (value, digits) => String(Number(Number(value).toPrecision(digits)));

  // A value and its error, both to the digit where the error begins.
  const withError = (value, error) => {
    const factor = unit === "bits" ? BITS : 1;
    const [v, e] = [Number(value) * factor, Number(error) * factor];
    const places = (size) => {
      const exponent = Math.floor(Math.log10(size));
      return -exponent + (size / 10 ** exponent < 1.95 ? 1 : 0);
    };
    const exponent = Math.floor(Math.log10(Math.max(Math.abs(v), e)));
    if (exponent >= -4 && exponent < 6) {
      const p = places(e);
      const fixed = (x) => (p >= 0 ? x.toFixed(p) : String(Math.round(x * 10 ** p) / 10 ** p));
      return `${fixed(v)} ± ${fixed(e)}`;
    }
    const p = Math.max(0, places(e / 10 ** exponent));
    return `(${(v / 10 ** exponent).toFixed(p)} ± ${(e / 10 ** exponent).toFixed(p)})e${exponent}`;
  };
  const rewrite = () => {
    for (const node of document.querySelectorAll(".n")) {
      node.textContent = node.dataset.e ? withError(node.dataset.v, node.dataset.e) : shown(node.dataset.v, Number(node.dataset.d));
    }
    for (const node of document.querySelectorAll(".u")) node.textContent = unit;
  };
  document.getElementById("tools").hidden = false;
  for (const input of document.querySelectorAll("input[name=unit]")) {
    input.addEventListener("change", () => { unit = input.value; rewrite(); });
  }

  document.getElementById("download")?.addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(JSON.parse(await result), null, 1)], { type: "application/json" }));
    link.download = "hidiv-report.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  // Tables that sort by the column whose heading is pressed.
  const key = (cell, kind) => {
    if (kind === "text") return cell.textContent.trim().toLowerCase();
    const held = cell.dataset.v ?? cell.querySelector("[data-v]")?.dataset.v ?? cell.textContent;
    return held === "inf" ? Infinity : held.trim() === "" ? -Infinity : Number(held);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "descending" : head.dataset.sort === "number";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
        const rows = [...table.tBodies[0].rows].map((row) => [key(row.cells[column], head.dataset.sort), row]);
        table.tBodies[0].append(...rows.sort((a, b) => order(a[0], b[0])).map((pair) => pair[1]));
        table.dispatchEvent(new Event("sorted"));
      });
    });
  }

  const point = (event, text) => {
    tip.textContent = text;
    tip.classList.toggle("on", Boolean(text));
    if (!text) return;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
  };

  // Heat tables: hover and focus read a cell, click and Enter show its row.
  const grid = (table, read, open) => {
    const cell = (r, c) => table.querySelector(`td[data-r="${r}"][data-c="${c}"]`);
    const output = table.closest("figure").querySelector(".reading");
    const place = (event) => event.target.closest("td[data-c]");
    table.addEventListener("pointermove", (event) => {
      const at = place(event);
      point(event, at ? read(Number(at.dataset.r), Number(at.dataset.c)) : "");
    });
    table.addEventListener("pointerleave", (event) => point(event, ""));
    table.addEventListener("focusin", (event) => {
      const at = place(event);
      if (at) output.textContent = read(Number(at.dataset.r), Number(at.dataset.c));
    });
    table.addEventListener("click", (event) => {
      const at = place(event);
      if (!at) return;
      output.textContent = read(Number(at.dataset.r), Number(at.dataset.c));
      if (open) open(Number(at.dataset.r), at);
    });
    table.addEventListener("keydown", (event) => {
      const at = place(event);
      const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (at && step) {
        let next = cell(Number(at.dataset.r) + step[0], Number(at.dataset.c) + step[1]);
        while (next?.closest("tr.closed")) next = cell(Number(next.dataset.r) + step[0], Number(next.dataset.c));
        if (next) { at.tabIndex = -1; next.tabIndex = 0; next.focus(); }
        event.preventDefault();
      } else if (at && (event.key === "Enter" || event.key === " ")) { at.click(); event.preventDefault(); }
    });
  };
  const element = (name, text, parent) => {
    const made = document.createElement(name);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  for (const figure of document.querySelectorAll("figure.heat")) {
    const t = view.tables[Number(figure.dataset.table)];
    const [first, second] = view.names;
    const joined = t.kind === "transition" ? ["from", "to"] : ["in", "of"];
    const read = (r, c) => {
      const what = `${joined[0]} ${t.rows[r]} ${joined[1]} ${t.columns[c]}`;
      const adds = t.adds ? `; adds ${amount(t.adds[r][c], 3)}` : "";
      return `${what}: ${first} ${sized(t.p[r][c], 4)}, ${second} ${sized(t.q[r][c], 4)}${adds}`;
    };
    const detail = figure.querySelector(".detail");
    grid(figure.querySelector("table"), read, (r, at) => {
      const again = at.parentNode.classList.contains("chosen") && !detail.hidden;
      for (const row of figure.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
      detail.replaceChildren();
      detail.hidden = again;
      if (again) return;
      at.parentNode.classList.add("chosen");
      const table = element("table", "", detail);
      element("caption", `${t.kind} ${joined[0]} ${t.rows[r]}: adds ${amount(t.rowAdds[r], 5)}`, table);
      const head = element("tr", "", element("thead", "", table));
      for (const word of [t.kind === "transition" ? "to" : "of", first, second, ...(t.adds ? [`adds (${unit})`] : [])]) {
        element("th", word, head).scope = "col";
      }
      const body = element("tbody", "", table);
      t.columns.forEach((name, c) => {
        const row = element("tr", "", body);
        element("th", name, row).scope = "row";
        for (const value of [t.p[r][c], t.q[r][c]]) element("td", sized(value, 5), row);
        if (t.adds) element("td", shown(t.adds[r][c], 4), row);
      });
    });
  }
  for (const chooser of document.querySelectorAll(".choose select")) {
    const choose = () => {
      for (const figure of chooser.closest(".way").querySelectorAll("figure[data-group]")) figure.hidden = figure.dataset.group !== chooser.value;
    };
    chooser.closest(".choose").hidden = false;
    chooser.addEventListener("change", choose);
    choose();
  }

  // How cells are coloured: by contribution, difference, or the values of either model.
  const paint = (way, kind) => {
    for (const figure of way.querySelectorAll("figure.heat")) {
      const t = view.tables[Number(figure.dataset.table)];
      const wide = figure.classList.contains("wide");
      for (const cell of figure.querySelectorAll("td[data-c]")) {
        const [r, c] = [Number(cell.dataset.r), Number(cell.dataset.c)];
        const shade = t.paints[kind][r][c];
        cell.className = (kind === "difference" ? (shade < 0 ? `m${-shade}` : `d${shade}`) : `q${shade}`) + (cell.classList.contains("guilty") ? " guilty" : "");
        const difference = t.p[r][c] - t.q[r][c];
        const signed = difference === 0 ? "0" : (difference > 0 ? "+" : "") + sized(difference, 3);
        cell.replaceChildren();
        if (cell.classList.contains("guilty") && (wide || kind === "contribution")) cell.textContent = "∞";
        else if (wide) cell.textContent = kind === "difference" && shade < 0 ? "−" : "";
        else if (kind === "contribution" && t.adds) {
          const number = element("span", shown(t.adds[r][c], 2), cell);
          number.className = "n";
          number.dataset.v = t.adds[r][c];
          number.dataset.d = 2;
        } else cell.textContent = kind === "p" || kind === "q" ? sized(t[kind][r][c], 3) : signed;
      }
    }
    const legends = { contribution: "contribution", difference: "difference", p: "values", q: "values" };
    for (const name of new Set(Object.values(legends))) {
      for (const legend of way.querySelectorAll(`.legend-${name}`)) legend.hidden = name !== legends[kind];
    }
  };
  for (const field of document.querySelectorAll("fieldset.paint")) {
    field.hidden = false;
    field.addEventListener("change", (event) => paint(field.closest(".way"), event.target.value));
  }

  // The pair aligned, or as labelled.
  const orders = document.getElementById("order-switch");
  if (orders) {
    orders.hidden = false;
    orders.addEventListener("change", (event) => {
      for (const way of document.querySelectorAll(".way")) way.hidden = way.dataset.way !== event.target.value;
    });
  }

  // Long tables: the largest rows, and a button for the rest.
  const shorten = (table, hidden) => {
    if (!hidden().length) return;
    const total = table.tBodies[0].rows.length;
    let open = false;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rest";
    const draw = () => {
      for (const row of table.tBodies[0].rows) row.classList.remove("closed");
      if (!open) for (const row of hidden()) row.classList.add("closed");
      button.textContent = open ? "Show the ten largest rows" : `Show all ${total} rows`;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => { open = !open; draw(); });
    table.addEventListener("sorted", draw);
    table.closest(".scroll").after(button);
    draw();
  };
  for (const table of document.querySelectorAll("table[data-first]")) {
    shorten(table, () => [...table.tBodies[0].rows].slice(Number(table.dataset.first)));
  }
  for (const table of document.querySelectorAll("figure.heat table")) {
    shorten(table, () => [...table.querySelectorAll("tbody tr.more")]);
  }

  // Pictures along nodes: the nearest bar or circle is read out.
  for (const chart of view.charts ?? []) {
    const svg = document.querySelector(`svg[data-chart="${chart.id}"]`);
    const output = document.querySelector(`output[data-for="${chart.id}"]`);
    const cursor = svg.querySelector(".cursor");
    const dots = [...svg.querySelectorAll("circle")];
    let at = -1;
    const read = (i) => {
      if (chart.texts) return chart.texts[i];
      if (chart.names) return `${chart.names[i]}: ${chart.word === "model" ? chart.values[i] : amount(chart.values[i], 4)}`;
      const end = (chart.starts[i + 1] ?? chart.n) - 1;
      const where = end > chart.starts[i] ? `${chart.word}s ${chart.starts[i]} to ${end}, largest` : `${chart.word} ${chart.starts[i]}`;
      return `${where}: ${amount(chart.values[i], 4)}`;
    };
    const show = (i) => {
      at = Math.max(0, Math.min(i, chart.values.length - 1));
      output.textContent = read(at);
      if (cursor) {
        const width = 720 / chart.values.length;
        cursor.setAttribute("x", at * width);
        cursor.setAttribute("width", Math.max(width, 1.5));
        cursor.setAttribute("visibility", "visible");
      }
      dots.forEach((dot, i) => dot.classList.toggle("on", i === at));
      return read(at);
    };
    svg.addEventListener("pointermove", (event) => {
      if (dots.length) {
        const dot = event.target.closest("circle");
        point(event, dot ? show(Number(dot.dataset.i)) : "");
        return;
      }
      const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const inside = spot.x >= 0 && spot.x < 720;
      point(event, inside ? show(Math.floor((spot.x / 720) * chart.values.length)) : "");
    });
    svg.addEventListener("pointerleave", (event) => point(event, ""));
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
      if (step) { show(at < 0 ? 0 : at + step); event.preventDefault(); }
      if (event.key === "Home" || event.key === "End") { show(event.key === "Home" ? 0 : chart.values.length - 1); event.preventDefault(); }
    });
  }

  // All pairs of a collection: a table, or a picture whose pixels are pairs.
  const matrix = document.querySelector("figure.matrix");
  if (matrix) {
    const { names, order } = view.matrix;
    let values;
    result.then((text) => { values = JSON.parse(text).matrix; });
    const told = (i, j) => {
      const held = values === undefined ? "" : `: ${amount(values[i][j], 4)}`;
      return `D(${names[i]} || ${names[j]})${held}`;
    };
    // A pair opens with both directions, the parts of its joint divergence, and its causes.
    const panel = matrix.querySelector(".pair");
    const open = (i, j) => {
      if (i === j || values === undefined) return;
      panel.replaceChildren();
      panel.hidden = false;
      element("h3", `${names[i]} against ${names[j]}`, panel);
      const both = [[i, j], [j, i]].map(([a, b]) => `D(${names[a]} || ${names[b]}) = ${amount(values[a][b], 4)}`);
      element("p", `${both.join("; ")} (${view.status}).`, panel);
      const found = view.pairs[`${i},${j}`];
      if (found) {
        const [initial, transition, emission] = found.parts.map((part) => amount(part, 3));
        element("p", `Joint divergence as labelled ${amount(found.joint, 4)}: initial law ${initial}, transitions ${transition}, emissions ${emission}.`, panel);
        const list = element("ul", "", panel);
        for (const place of found.impossible) element("li", `impossible in ${names[j]}: ${place}`, list);
        for (const [words, adds, place] of found.causes) {
          const share = `${Math.round((100 * adds) / found.whole)} %`;
          element("li", place ? `${words}: ${amount(adds, 3)} (${share}) come from ${place}.` : `${share} ${words}.`, list);
        }
      }
      element("p", "The whole page about these two: hidiv report with their two files and the same --tree.", panel);
    };
    const table = matrix.querySelector("table");
    if (table) grid(table, (r, c) => told(order[r], order[c]), (r, at) => open(order[r], order[Number(at.dataset.c)]));
    const picture = matrix.querySelector("img");
    if (picture) {
      picture.addEventListener("pointermove", (event) => {
        const box = picture.getBoundingClientRect();
        const i = Math.floor(((event.clientY - box.top) / box.height) * order.length);
        const j = Math.floor(((event.clientX - box.left) / box.width) * order.length);
        if (order[i] !== undefined && order[j] !== undefined) point(event, told(order[i], order[j]));
      });
      picture.addEventListener("click", (event) => {
        const box = picture.getBoundingClientRect();
        const [i, j] = [event.clientY - box.top, event.clientX - box.left].map((at, k) => Math.floor((at / (k ? box.width : box.height)) * order.length));
        if (order[i] !== undefined && order[j] !== undefined) open(order[i], order[j]);
      });
      picture.addEventListener("pointerleave", (event) => point(event, ""));
      const output = matrix.querySelector(".reading");
      let [row, column] = [0, 0];
      picture.addEventListener("keydown", (event) => {
        const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [0, 0];
        if (event.key === "Enter") open(order[row], order[column]);
        else if (!down && !right) return;
        event.preventDefault();
        row = Math.min(Math.max(row + down, 0), order.length - 1);
        column = Math.min(Math.max(column + right, 0), order.length - 1);
        output.textContent = told(order[row], order[column]);
      });
    }
  }
  // What is folded on the screen is open on paper.
  addEventListener("beforeprint", () => { for (const folded of document.querySelectorAll("details")) folded.open = true; });
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.classList.remove("on"); });
})();
