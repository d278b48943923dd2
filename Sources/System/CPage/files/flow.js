// The picture of the flow: sources, the router, its routes and its providers, with the rates of now on the arrows. The tables below it have the
// same numbers, so the picture itself has one name for readers of the screen.

import { count, draw, rate, visible } from "./show.js";

/// The most boxes of a column. The tables have all of them.
const most = 16;
const box = { width: 168, height: 46, gap: 14 };
const columns = [1, 243, 420, 731];
const hub = { width: 112, height: 58 };
const width = 901;

export class Flow {
  constructor(place) {
    this.place = place;
    this.picture = draw("svg", { role: "img" });
    place.append(this.picture);
  }

  show(sources, routes, lanes, total) {
    const shown = [cut(sources, "events"), cut(routes, "admitted"), cut(lanes, "delivered")];
    const rows = Math.max(1, ...shown.map((list) => list.items.length + (list.left > 0 ? 1 : 0)));
    const height = rows * (box.height + box.gap) + box.gap;
    const words = `${count(sources.length)} sources, ${count(routes.length)} routes and ${count(lanes.length)} providers; `
      + `${rate(total)} events come in. The tables below have all numbers.`;
    const picture = draw("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, "aria-label": words });
    const places = shown.map((list, index) => stack(list, columns[index === 0 ? 0 : index + 1], height));
    const center = { x: columns[1], y: height / 2 - hub.height / 2, width: hub.width, height: hub.height };

    const arrows = draw("g", { class: "arrows" });
    const labels = draw("g", { class: "labels" });
    shown[0].items.forEach((source, index) => {
      arrow(arrows, labels, places[0][index], center, source.growth("events"));
    });
    shown[1].items.forEach((route, index) => {
      const flows = route.growth("admitted");
      arrow(arrows, labels, center, places[1][index], null, flows);
      for (const name of route.to) {
        const target = shown[2].items.findIndex((lane) => lane.key === name);
        if (target >= 0) arrow(arrows, labels, places[1][index], places[2][target], flows, flows, route.to.length > 1 ? 0.3 : 0.5);
      }
    });
    picture.append(arrows);

    shown[0].items.forEach((source, index) => picture.append(node(places[0][index], source.key, `${count(source.value.events)} events`, "source")));
    picture.append(node(center, "Router", rate(total), "hub"));
    shown[1].items.forEach((route, index) =>
      picture.append(node(places[1][index], route.key, `${count(route.value.admitted)} of ${count(sum(route.value))} admitted`, "route")));
    shown[2].items.forEach((lane, index) => picture.append(node(places[2][index], lane.key, laneWords(lane), lane.isBad ? "lane bad" : "lane")));
    shown.forEach((list, index) => {
      if (list.left > 0) picture.append(node(places[index].at(-1), `and ${count(list.left)} more`, "in the table", "more"));
    });
    picture.append(labels);
    this.picture.replaceWith(picture);
    this.picture = picture;
  }
}

function sum(route) {
  return Object.values(route).reduce((total, value) => (typeof value === "number" ? total + value : total), 0);
}

function laneWords(lane) {
  if (lane.value.phase !== "open") return lane.value.phase;
  if (lane.value.breaker !== "closed") return `breaker ${lane.value.breaker.replace("_", " ")}, ${count(lane.value.events)} waiting`;
  return `${rate(lane.value.rate_per_s)}, ${count(lane.value.events)} waiting`;
}

/// Returns the busiest items, in their order, and how many are left out.
function cut(items, member) {
  if (items.length <= most) return { items, left: 0 };
  const busiest = [...items].sort((a, b) => (b.value[member] ?? 0) - (a.value[member] ?? 0)).slice(0, most - 1);
  return { items: items.filter((item) => busiest.includes(item)), left: items.length - busiest.length };
}

/// Returns the places of a column of boxes, in the middle of the height.
function stack(list, x, height) {
  const number = list.items.length + (list.left > 0 ? 1 : 0);
  const top = (height - number * box.height - (number - 1) * box.gap) / 2;
  return Array.from({ length: number }, (_, index) => ({
    x, y: top + index * (box.height + box.gap), width: box.width, height: box.height,
  }));
}

function node(place, name, words, kind) {
  const text = visible(name);
  const fits = Math.floor((place.width - 20) / 7.4);
  const middle = place.x + place.width / 2;
  return draw("g", { class: `node ${kind}` },
    draw("title", {}, text),
    draw("rect", { x: place.x, y: place.y, width: place.width, height: place.height, rx: 8 }),
    draw("text", { x: middle, y: place.y + place.height / 2 - 4, class: "name" }, text.length > fits ? `${text.slice(0, fits - 1)}…` : text),
    draw("text", { x: middle, y: place.y + place.height / 2 + 14, class: "words" }, words));
}

/// Draws an arrow. `flows` is how much flows through it, and `label` what is written on it, at this part of its way.
function arrow(arrows, labels, from, to, label, flows = label, part = 0.5) {
  const [x1, y1] = [from.x + from.width + 1, from.y + from.height / 2];
  const [x2, y2] = [to.x - 6, to.y + to.height / 2];
  const bend = (x2 - x1) / 2;
  const stroke = flows > 0 ? Math.min(6, 1.2 + Math.log10(1 + flows)) : 1;
  arrows.append(draw("path", {
    d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, "stroke-width": stroke.toFixed(1), class: flows > 0 ? "busy" : null,
  }), draw("path", { class: flows > 0 ? "head busy" : "head", d: `M${x2 - 2} ${y2 - 5}L${x2 + 6} ${y2}L${x2 - 2} ${y2 + 5}Z` }));
  if (label === null || label === undefined) return;
  // The curve of Bézier at this part of its way.
  const rest = 1 - part;
  const along = (a, b, c, d) => rest ** 3 * a + 3 * rest ** 2 * part * b + 3 * rest * part ** 2 * c + part ** 3 * d;
  labels.append(draw("text", {
    x: along(x1, x1 + bend, x2 - bend, x2).toFixed(1), y: (along(y1, y1, y2, y2) - 5).toFixed(1), class: "rate",
  }, rate(label)));
}
