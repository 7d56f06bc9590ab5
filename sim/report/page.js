"use strict";
// Shows the values under the pointer, and the decision at the focus. Text enters the page as text only.
(() => {
  const number = (v) => v.toLocaleString("en", { maximumFractionDigits: 3 });

  const time = (seconds) => {
    if (seconds < 60) return number(Math.round(seconds * 100) / 100) + "s";
    let rest = Math.round(seconds);
    let text = "";
    for (const [size, name] of [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]]) {
      const n = Math.floor(rest / size);
      if (n > 0) text += n + name;
      rest -= n * size;
    }
    return text;
  };

  // last returns the place of the last of the ascending numbers that is not above v, or -1.
  const last = (numbers, v) => {
    let low = 0;
    let high = numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] <= v) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };

  const written = (row, value) => {
    if (value === null || value === undefined) return "unknown";
    const show = row.kind === "time" ? time : number;
    if (row.kind === "rate") {
      const [mean, fastest] = value;
      return number(mean) + "/s" + (fastest > mean ? ", up to " + number(fastest) : "");
    }
    if (!Array.isArray(value)) return show(value);
    const [now, least, largest] = value;
    return show(now) + " (" + show(least) + " to " + show(largest) + ")";
  };

  const cell = (text, kind) => {
    const td = document.createElement("td");
    td.textContent = text;
    if (kind) td.className = kind;
    return td;
  };

  const begin = (figure) => {
    const id = figure.dataset.picture;
    const values = JSON.parse(document.getElementById(id + "-values").textContent);
    const decisions = document.getElementById(id + "-decisions").rows;
    const svg = figure.querySelector("svg");
    const cursor = svg.querySelector(".cursor");
    const marks = [...svg.querySelectorAll(".mark")];
    const readout = figure.querySelector(".readout");
    const [when, body, why] = [".time", "tbody", ".why"].map((part) => readout.querySelector(part));
    const left = Number(svg.dataset.left);
    const right = Number(svg.dataset.right);

    const hide = () => {
      readout.hidden = true;
      figure.classList.remove("watched");
    };

    // show puts the cursor at a time and writes what holds then.
    const show = (seconds) => {
      const x = values.end > 0 ? left + (seconds / values.end) * (right - left) : left;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      figure.classList.add("watched");
      when.textContent = "at " + time(seconds);
      body.replaceChildren(...values.rows.map((row) => {
        const tr = document.createElement("tr");
        tr.append(cell(row.name), cell(written(row, row.values[last(row.at || values.at, seconds)]), "number"));
        return tr;
      }));
      const decision = last(values.when, seconds + 1e-9);
      why.textContent = decision < 0 ? "" : "at " + decisions[decision].cells[0].textContent + ": " + decisions[decision].cells[3].textContent;
      readout.hidden = false;
      // Beside the cursor, on the side that has room.
      const at = (x / svg.viewBox.baseVal.width) * svg.clientWidth;
      const room = at + 18 + readout.offsetWidth <= svg.clientWidth;
      readout.style.left = Math.max(0, room ? at + 18 : at - 18 - readout.offsetWidth) + "px";
    };

    const pointed = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      if (x < left - 8 || x > right + 8) return hide();
      show(Math.min(1, Math.max(0, (x - left) / (right - left))) * values.end);
    };
    svg.addEventListener("pointermove", pointed);
    svg.addEventListener("pointerdown", pointed);
    svg.addEventListener("pointerleave", () => {
      if (!marks.includes(document.activeElement)) return hide();
      show(values.when[marks.indexOf(document.activeElement)]);
    });

    const go = (place) => {
      for (const mark of marks) mark.tabIndex = -1;
      marks[place].tabIndex = 0;
      marks[place].focus();
    };
    marks.forEach((mark, place) => {
      mark.addEventListener("focus", () => {
        show(values.when[place]);
        mark.setAttribute("aria-description", decisions[place].cells[3].textContent);
      });
      mark.addEventListener("blur", hide);
      mark.addEventListener("keydown", (event) => {
        const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: marks.length - 1 }[event.key];
        if (event.key === "Escape") mark.blur();
        if (to === undefined || to < 0 || to >= marks.length) return;
        event.preventDefault();
        go(to);
      });
    });
  };

  document.querySelectorAll("[data-picture]").forEach(begin);
})();
