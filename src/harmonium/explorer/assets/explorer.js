/* What happens in the browser alone: selects, tabs, scenarios, files, and the table of a cohort. Names are shown as text, never as HTML. */

"use strict";

(function () {
  const MOST_BYTES = 20 * 2 ** 20;
  const PAGE = 50;
  const SLOTS = ["A", "B", "C"];
  const SETTLED_AFTER = 400; // milliseconds without an answer to something new
  let settling = null;

  function idOf(element) {
    return element.id.startsWith("{") ? JSON.parse(element.id) : element.id;
  }

  // Dash has no plain select: carry what is chosen into its attribute data-value.
  document.addEventListener("change", (event) => {
    const select = event.target;
    if (select.matches && select.matches("select[data-value]") && select.id) {
      window.dash_clientside.set_props(idOf(select), { "data-value": select.value });
    }
  });

  function element(tag, text, attributes) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    Object.entries(attributes || {}).forEach(([name, value]) => made.setAttribute(name, value));
    return made;
  }

  function save(name, type, content) {
    const address = URL.createObjectURL(new Blob([content], { type: type }));
    const link = element("a", null, { href: address, download: name });
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  // --- the table of a cohort ---

  function shown(value, numeric) {
    if (value === null) return "";
    if (!numeric || Number.isInteger(value)) return String(value);
    const size = Math.abs(value);
    return size >= 1000 ? value.toFixed(0) : size < 1 ? value.toFixed(3) : value.toPrecision(3);
  }

  function keeps(table, view) {
    const text = view.filter.trim();
    const all = table.columns[0].map((_, row) => row);
    if (!text) return all;
    const compared = /^(<=|>=|<|>|=)\s*([-+]?[\d.]+(?:e[-+]?\d+)?)$/i.exec(text);
    const where = view.column < 0 ? table.names.map((_, c) => c) : [view.column];
    if (compared) {
      const limit = Number(compared[2]);
      const test = { "<": (v) => v < limit, ">": (v) => v > limit, "<=": (v) => v <= limit, ">=": (v) => v >= limit, "=": (v) => v === limit };
      const numbers = where.filter((c) => table.numeric[c]);
      return all.filter((row) => numbers.some((c) => table.columns[c][row] !== null && test[compared[1]](table.columns[c][row])));
    }
    const wanted = text.toLowerCase();
    return all.filter((row) => where.some((c) => shown(table.columns[c][row], table.numeric[c]).toLowerCase().includes(wanted)));
  }

  function ordered(table, view, rows) {
    if (view.sort === null) return rows;
    const values = table.columns[view.sort];
    return rows.slice().sort((a, b) => {
      const x = values[a], y = values[b];
      if (x === null || y === null) return (x === null) - (y === null);
      const order = table.numeric[view.sort] ? x - y : String(x).localeCompare(String(y));
      return view.down ? -order : order;
    });
  }

  // A spreadsheet would run a text that begins like a formula; an apostrophe makes it text. Numbers stay as they are. As in downloads.py.
  const FORMULA = /^(?![-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$)[=+\-@\t\r\n]/i;

  function asCsv(table, rows) {
    const cell = (value) => {
      if (value === null) return "";
      const text = FORMULA.test(String(value)) ? `'${value}` : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    const lines = rows.map((row) => table.columns.map((column) => cell(column[row])).join(","));
    return [table.names.map(cell).join(","), ...lines, ""].join("\n");
  }

  // A row of the file in the form of the tab Patient, with nothing known of its endpoints.
  function openPatient(table, row) {
    const own = { level: table.forms, number: table.forms, state: table.states, time: table.times };
    const value = (id) => ((own[id.type] || [])[id.index] || [])[row] || "";
    document.querySelectorAll("#patient-form select").forEach((select) => { const id = idOf(select); setField(id, value(id), true); });
    document.querySelectorAll("#patient-form input").forEach((input) => { const id = idOf(input); setField(id, value(id), false); });
    document.querySelector(".page-tab").click();
    window.scrollTo(0, 0);
  }

  function drawTable(table) {
    const place = document.getElementById("cohort-view");
    place.replaceChildren();
    if (!table) return;
    const view = { filter: "", column: -1, sort: null, down: false, page: 0 };

    const select = element("select", null, { id: "cohort-column" });
    select.append(element("option", "any column", { value: -1 }), ...table.names.map((name, c) => element("option", name, { value: c })));
    const filter = element("input", null, { id: "cohort-filter", type: "text", placeholder: "text, or a limit such as < 24", autocomplete: "off" });
    const count = element("p", "", { role: "status", id: "cohort-count" });
    const grid = element("table");
    const scroll = element("div", null, { class: "scroll", tabindex: 0, role: "region", "aria-label": "Predictions" });
    scroll.append(grid);
    const back = element("button", "Previous rows", { type: "button" });
    const on = element("button", "Next rows", { type: "button" });
    const download = element("button", "Download table (CSV)", { type: "button", id: "cohort-csv" });
    const field = (label, control) => {
      const box = element("div", null, { class: "field" });
      box.append(element("label", label, { for: control.id }), control);
      return box;
    };
    const controls = element("div", null, { class: "fields" });
    controls.append(field("Filter", filter), field("Filter in", select));
    const buttons = element("div", null, { class: "buttons" });
    buttons.append(back, on, download);
    place.append(controls, count, scroll, buttons);

    const head = element("thead"), body = element("tbody"), row = element("tr");
    const marks = table.names.map((name, c) => {
      const cell = element("th", null, { scope: "col", class: table.numeric[c] ? "number" : "" });
      const button = element("button", null, { type: "button", class: "sort" });
      const mark = element("span", "", { "aria-hidden": "true" });
      button.append(element("span", name), mark);
      button.addEventListener("click", () => {
        view.down = view.sort === c ? !view.down : false;
        view.sort = c;
        view.page = 0;
        draw();
      });
      cell.append(button);
      row.append(cell);
      return { cell, mark };
    });
    head.append(row);
    grid.append(element("caption", "Predictions; the names of columns sort"), head, body);

    function draw() {
      const rows = ordered(table, view, keeps(table, view));
      const from = view.page * PAGE;
      body.replaceChildren(
        ...rows.slice(from, from + PAGE).map((r) => {
          const line = element("tr", null, { tabindex: 0, class: "opens", title: "Open in the tab Patient" });
          const open = () => openPatient(table, r);
          line.addEventListener("click", open);
          line.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
          line.append(...table.columns.map((column, c) => element("td", shown(column[r], table.numeric[c]), { class: table.numeric[c] ? "number" : "" })));
          return line;
        })
      );
      marks.forEach(({ cell, mark }, c) => {
        mark.textContent = view.sort !== c ? "" : view.down ? " ▼" : " ▲";
        cell.setAttribute("aria-sort", view.sort !== c ? "none" : view.down ? "descending" : "ascending");
      });
      const total = table.columns[0].length;
      const range = rows.length ? `${from + 1} to ${Math.min(from + PAGE, rows.length)}` : "none";
      count.textContent = `Rows ${range} of ${rows.length}` + (rows.length < total ? ` that pass the filter, of ${total}` : "");
      back.disabled = from === 0;
      on.disabled = from + PAGE >= rows.length;
    }

    filter.addEventListener("input", () => { view.filter = filter.value; view.page = 0; draw(); });
    select.addEventListener("change", () => { view.column = Number(select.value); view.page = 0; draw(); });
    back.addEventListener("click", () => { view.page -= 1; draw(); });
    on.addEventListener("click", () => { view.page += 1; draw(); });
    download.addEventListener("click", () => save("predictions.csv", "text/csv", asCsv(table, ordered(table, view, keeps(table, view)))));
    draw();
  }

  // --- links: what is known of the patient, after the # of the address, in the names of the table ---

  let arrived = new URLSearchParams(window.location.hash.slice(1));

  function setField(id, value, select) {
    window.dash_clientside.set_props(id, select ? { "data-value": value } : { value: value });
    const control = select && document.getElementById(JSON.stringify(id, Object.keys(id).sort()));
    if (control) control.value = value;
  }

  // Fill the form from a link; what it names and this model does not know is said.
  function fill(parameters, fields) {
    const unknown = [];
    parameters.forEach((value, key) => {
      const kind = key.slice(0, 2), name = key.slice(2);
      if (kind === "x.") {
        const place = fields.columns.indexOf(name);
        const levels = place < 0 ? null : fields.levels[place];
        const level = levels ? levels.indexOf(value) : 0;
        if (place < 0 || level < 0) unknown.push(`${name} ${value}`);
        else if (levels) setField({ type: "level", index: place }, String(level), true);
        else setField({ type: "number", index: place }, value, false);
      } else if (kind === "y.") {
        const place = fields.endpoints.indexOf(name);
        const [state, ...time] = value.split(" ");
        if (place < 0 || !["free", "event"].includes(state)) unknown.push(`${name} ${value}`);
        else {
          setField({ type: "state", index: place }, state, true);
          setField({ type: "time", index: place }, time.join(" "), false);
        }
      }
    });
    return unknown;
  }

  function asLink(form, fields) {
    const parameters = new URLSearchParams();
    form.covariates.forEach((value, i) => {
      const text = value === null || value === undefined ? "" : String(value);
      if (text) parameters.append(`x.${fields.columns[i]}`, fields.levels[i] ? fields.levels[i][Number(text)] : text);
    });
    form.states.forEach((state, e) => {
      if (state) parameters.append(`y.${fields.endpoints[e]}`, `${state} ${form.times[e] || ""}`.trim());
    });
    return parameters.toString();
  }

  // --- callbacks ---

  const same = () => window.dash_clientside.no_update;

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    explorer: {
      openTab: function (clicks) {
        const triggered = window.dash_clientside.callback_context.triggered_id;
        const opened = triggered ? triggered.index : 0;
        // Figures in a hidden tab have no size; they find it when the window seems to have changed.
        setTimeout(() => window.dispatchEvent(new Event("resize")), 50);
        const file = document.querySelector("#drop input[type=file]"); // Dash's own, which has no label
        if (file) file.setAttribute("aria-label", "CSV file");
        return [clicks.map((_, i) => i !== opened), clicks.map((_, i) => (i === opened ? "true" : "false")), opened];
      },

      lacksTime: (state) => !state,

      // First what a link says goes into the form; from then on the address follows the form.
      followLink: function (form, clicks, fields) {
        if (arrived !== null) {
          const parameters = arrived;
          arrived = null;
          const unknown = fill(parameters, fields);
          if ([...parameters].length) return unknown.length ? `The link says what this model does not know: ${unknown.join("; ")}` : "";
        }
        const link = asLink(form, fields);
        window.history.replaceState(null, "", link ? `#${link}` : window.location.pathname);
        const context = window.dash_clientside.callback_context;
        if (context.triggered_id !== "link" || !clicks) return same();
        if (!navigator.clipboard) return `Copy it from here: ${window.location.href}`;
        navigator.clipboard.writeText(window.location.href).catch(() => {});
        return "Copied; it is also the address of this page.";
      },

      settle: function (form) {
        clearTimeout(settling);
        settling = setTimeout(() => window.dash_clientside.set_props("settled", { data: form }), SETTLED_AFTER);
        return same();
      },

      print: function (clicks) {
        if (clicks) window.print();
        return same();
      },

      reset: function () {
        document.querySelectorAll("#patient-form select").forEach((select) => { select.selectedIndex = 0; });
        return window.dash_clientside.callback_context.outputs_list.map((list) => list.map(() => ""));
      },

      // What the form holds now, not what the server has answered last.
      scenarios: function (copies, removals, numbers, levels, states, times, scenarios) {
        const context = window.dash_clientside.callback_context;
        const triggered = context.triggered_id;
        if (!triggered || !context.triggered.some((item) => item.value)) return [same(), same()];
        const covariates = [];
        context.states_list.slice(0, 2).flat().forEach((field) => { covariates[field.id.index] = field.value; });
        const next = scenarios.slice();
        next[triggered.index] = triggered.type === "copy" ? { covariates: covariates, states: states, times: times } : null;
        const slot = SLOTS[triggered.index];
        return [next, triggered.type === "copy" ? `Copied to scenario ${slot}; see the tab Compare.` : ""];
      },

      downloadFigure: function (clicks) {
        const graph = document.querySelector("#compare-figure .js-plotly-plot");
        if (clicks && graph) {
          const size = { width: Math.max(graph.clientWidth, 640), height: Math.max(graph.clientHeight, 420) };
          window.Plotly.downloadImage(graph, Object.assign({ format: "svg", filename: "scenarios" }, size));
        }
        return same();
      },

      takeFile: function (contents, name) {
        if (!contents) return [same(), same()];
        const encoded = contents.length - contents.indexOf(",") - 1;
        if (encoded * 3 / 4 > MOST_BYTES + 2) {
          return [null, `${name} is too large: at most ${MOST_BYTES / 2 ** 20} MB can be read here; use harmonium predict`];
        }
        return [{ name: name, contents: contents }, ""];
      },

      showTable: function (table) {
        drawTable(table);
        return same();
      },
    },
  });
})();
