// What all views use: elements, texts and numbers. A text of an event or of the configuration only ever becomes the content of a text node.

/// Makes an element. Attributes are names and values; children are elements or texts.
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/// Makes an element of a picture.
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/// Returns the text with characters that cannot be seen, or that change the direction of others, as their numbers.
export function visible(text) {
  return String(text).replace(unseen, (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`);
}

/// Returns a text of several lines in the same way.
export function lines(text) {
  return text.trim().split("\n").map(visible).join("\n");
}

/// Returns what a line of JSON shows of its event: the event as it is written there, so that no number changes, or the names of its members.
export function content(value, line) {
  if (value.members) return `members: ${value.members.join(", ")}`;
  const head = "\"event\":";
  return line.slice(line.indexOf(head) + head.length, -1);
}

/// Changes the text of an element only if it differs, so that a reader of the screen is not disturbed.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// MARK: - Numbers

export function count(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${number} B` : `${(Math.round(number * 10) / 10).toFixed(1)} ${units[unit]}`;
}

export function seconds(number) {
  if (number === null || number === undefined) return "–";
  if (number > 0 && number < 1) return `${Math.round(number * 1000)} ms`;
  const whole = Math.floor(number);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} m`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

export function rate(number) {
  if (number === null || number === undefined) return "–";
  return number >= 10 || number === 0 ? `${count(number)}/s` : `${(Math.round(number * 10) / 10).toFixed(1)}/s`;
}

// MARK: - Tables

/// A table whose rows keep their elements while their numbers change. Columns have a `head` and say by `cell(row)` what a cell has: its
/// `text`, and if it is a number of the status, `of`, the place of that number.
export class Table {
  constructor(place, caption, columns) {
    this.columns = columns;
    this.body = make("tbody");
    this.rows = new Map();
    this.none = make("p", { class: "none" }, "None.");
    const heads = columns.map((column) => make("th", { scope: "col", class: column.isText ? "text" : null }, column.head));
    this.frame = make("div", { class: "table", role: "region", tabindex: "0", "aria-label": caption },
      make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), this.body));
    place.append(this.frame, this.none);
  }

  show(rows) {
    this.none.hidden = rows.length > 0;
    this.frame.hidden = rows.length === 0;
    const left = new Set(this.rows.keys());
    for (const row of rows) {
      left.delete(row.key);
      let line = this.rows.get(row.key);
      if (!line) {
        line = make("tr", {}, ...this.columns.map((column, index) =>
          index === 0 ? make("th", { scope: "row", class: "text" }) : make("td", { class: column.isLong ? "text long" : column.isText ? "text" : null })));
        this.rows.set(row.key, line);
        this.body.append(line);
      }
      line.classList.toggle("bad", Boolean(row.isBad));
      this.columns.forEach((column, index) => {
        const cell = column.cell(row);
        const element = line.children[index];
        write(element, visible(cell.text));
        if (cell.of) element.dataset.of = cell.of;
        if (cell.as) element.dataset.as = cell.as;
      });
    }
    for (const key of left) {
      this.rows.get(key).remove();
      this.rows.delete(key);
    }
  }
}
