// The tap: events as they pass, with their verdicts, masked as `switchyard tap` masks them. It ends when the view or the page is left.

import { ask, notice, send } from "./asking.js";
import { content, count, make, visible, write } from "./show.js";

/// The most events that stay on the page.
const most = 200;
const stages = [
  ["in", "in: every event, with all verdicts"], ["denied", "denied: a route denies it because of consent"],
  ["filtered", "filtered: the filter of a route does not take it"], ["sampled", "sampled: left out by a sample or a limit"],
  ["held", "held: waits for consent"], ["sent", "sent: a provider has confirmed it"], ["rejected", "rejected: a provider has refused it"],
  ["dead", "dead: kept as a dead letter"],
];

export class Tap {
  constructor(place) {
    this.list = place.querySelector("#tap-events");
    this.words = place.querySelector("#tap-words");
    this.form = place.querySelector("form");
    this.button = this.form.querySelector("button");
    this.form.elements.stage.append(...stages.map(([value, text]) => make("option", { value }, text)));
    this.number = null;
    this.shown = 0;
    this.dropped = 0;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.number === null) this.start();
      else this.stop();
    });
    window.addEventListener("pagehide", () => {
      if (this.number !== null) send(`tap/${this.number}/end`, {}, { keepalive: true });
      this.stop();
    });
  }

  /// The view was opened.
  async update() {
    const answer = await ask("data/flow");
    if (!answer?.ok) return;
    const flow = await answer.json();
    for (const [name, items] of [["route", flow.routes], ["provider", flow.providers]]) {
      const select = this.form.elements[name];
      const known = [...select.options].slice(1).map((option) => option.value);
      const names = items.map((item) => item.name);
      if (known.join("\n") === names.join("\n")) continue;
      select.replaceChildren(select.options[0], ...names.map((value) => make("option", { value }, visible(value))));
    }
  }

  /// The view was left.
  leave() {
    this.stop();
  }

  async start() {
    const form = new FormData(this.form);
    const asked = Object.fromEntries([...form].filter(([, value]) => value !== ""));
    const answer = await send("tap", asked);
    if (!answer) return this.say("The router does not answer.");
    if (!answer.ok) return this.say(`This was refused: ${visible((await answer.text()).trim())}`);
    this.number = (await answer.json()).tap;
    this.left = Number(asked.limit) || Infinity;
    [this.shown, this.dropped] = [0, 0];
    this.list.replaceChildren();
    write(this.button, "Stop");
    this.say("Waiting for events.");
    this.follow(this.number);
  }

  stop() {
    if (this.number === null) return;
    this.number = null;
    write(this.button, "Start");
    this.say(`Ended after ${count(this.shown)} events${this.lost()}.`);
  }

  async follow(number) {
    while (this.number === number) {
      const answer = await send(`tap/${number}`);
      // A request that waits in the router has its answer before the tap ends.
      if (this.number !== number) return send(`tap/${number}/end`);
      if (!answer?.ok) {
        this.stop();
        return this.say("The router has ended the tap.");
      }
      for (const line of (await answer.text()).split("\n")) {
        if (line) this.add(JSON.parse(line), line);
      }
      // The router has ended the tap with its last event.
      if (this.left <= 0) return this.stop();
    }
  }

  add(event, line) {
    if (event.dropped !== undefined) {
      this.dropped += event.dropped;
      return;
    }
    this.shown += 1;
    if (this.shown === 1) notice("");
    this.left -= 1;
    const routes = (event.routes ?? []).map((route) => make("span", { class: `verdict ${route.verdict === "admitted" ? "good" : "other"}` },
      `${visible(route.name)}: ${route.verdict.replace("_", " ")}${route.reason ? ` (${visible(route.reason)})` : ""}`));
    const facts = [event.received, event.source, event.route && `route ${event.route}`, event.provider && `to ${event.provider}`, event.reason,
      event.answer && `answer ${event.code}: ${event.answer}`].filter(Boolean).map(visible).join(" · ");
    this.list.prepend(make("li", {}, make("p", { class: "facts" }, facts), make("p", { class: "verdicts" }, ...routes),
      make("pre", { dir: "ltr" }, visible(content(event, line)))));
    while (this.list.children.length > most) this.list.lastChild.remove();
    write(this.words, `${count(this.shown)} events${this.lost()}.`);
  }

  lost() {
    return this.dropped > 0 ? `; ${count(this.dropped)} more were not shown, because they came too fast` : "";
  }

  /// The count changes all the time and is not spoken; what begins, ends or fails is.
  say(words) {
    write(this.words, words);
    notice("");
    notice(words);
  }
}
