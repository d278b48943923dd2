// What each lane did over the last hours: four small charts for each provider, from samples that the router keeps in memory.

import { ask } from "./asking.js";
import { count, draw, make, seconds, visible, write } from "./show.js";

const size = { width: 260, height: 64 };
const charts = [
  ["Waiting", "events", count], ["Oldest", "oldest_age_s", seconds], ["Half delivered within", "half_by_s", seconds], ["Errors", "errors", count],
];

export class Lanes {
  constructor(place) {
    this.place = place;
    this.cards = new Map();
    this.samples = new Map();
    this.last = 0;
    this.due = 0;
  }

  async update(lanes) {
    if (performance.now() < this.due) return;
    const answer = await ask(`data/history?after=${this.last}`);
    if (!answer?.ok) return;
    const history = await answer.json();
    this.due = performance.now() + Math.min(30, history.every_s) * 1000 / 3;
    if (history.last < this.last) this.samples.clear();
    this.last = history.last;
    for (const lane of history.lanes) {
      const known = this.samples.get(lane.provider) ?? {};
      for (const [, name] of charts) known[name] = [...(known[name] ?? []), ...lane[name]].slice(-720);
      this.samples.set(lane.provider, known);
    }
    for (const lane of lanes) this.show(lane.provider, this.samples.get(lane.provider), history.every_s);
    for (const [name, card] of this.cards) {
      if (lanes.some((lane) => lane.provider === name)) continue;
      card.element.remove();
      this.cards.delete(name);
    }
  }

  show(name, samples, every) {
    let card = this.cards.get(name);
    if (!card) {
      card = { figures: charts.map(([title]) => ({ title, caption: make("figcaption"), picture: draw("svg") })) };
      card.element = make("section", { class: "hours", "aria-label": visible(name) }, make("h4", {}, visible(name)),
        make("div", { class: "charts" }, ...card.figures.map((figure) => make("figure", {}, figure.caption, figure.picture))));
      this.place.append(card.element);
      this.cards.set(name, card);
    }
    charts.forEach(([title, member, text], index) => {
      const values = samples?.[member] ?? [];
      const known = values.filter((value) => value !== null);
      const figure = card.figures[index];
      const words = known.length === 0 ? "not known yet" : `now ${text(values.at(-1) ?? known.at(-1))}, at most ${text(Math.max(...known))}`;
      write(figure.caption, `${title}: ${words}`);
      const picture = line(values, `${title} of ${visible(name)} over ${seconds(values.length * every)}: ${words}`);
      figure.picture.replaceWith(picture);
      figure.picture = picture;
    });
  }
}

/// Draws the samples as a line, with a gap where a sample is not known.
function line(values, label) {
  const most = Math.max(1e-9, ...values.filter((value) => value !== null));
  const step = size.width / Math.max(1, values.length - 1);
  let path = "";
  let isOpen = false;
  values.forEach((value, index) => {
    if (value === null) {
      isOpen = false;
      return;
    }
    const x = (values.length === 1 ? size.width : index * step).toFixed(1);
    const y = (size.height - 3 - (value / most) * (size.height - 8)).toFixed(1);
    path += isOpen ? `L${x} ${y}` : `M${x} ${y}h0.1`;
    isOpen = true;
  });
  return draw("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${size.width} ${size.height}`, preserveAspectRatio: "none", class: "chart" },
    draw("path", { class: "ground", d: `M0 ${size.height - 2}H${size.width}` }), draw("path", { class: "line", d: path }));
}
