// The dead letters: how many there are for each provider and reason, single ones with the answer of the provider, and the replay.

import { ask, notice, send } from "./asking.js";
import { content, count, lines, make, Table, visible, write } from "./show.js";

export class Letters {
  constructor(place) {
    this.place = place;
    this.counts = new Table(place.querySelector("#letter-counts"), "Dead letters by provider and reason", [
      { head: "Provider", isText: true, cell: (row) => ({ text: row.value.provider }) },
      { head: "Reason", isText: true, cell: (row) => ({ text: row.value.reason }) },
      { head: "Letters", cell: (row) => ({ text: count(row.value.count), of: `letters/${row.key}`, as: "count" }) },
      { head: "Oldest", isText: true, cell: (row) => ({ text: row.value.oldest }) },
      { head: "Newest", isText: true, cell: (row) => ({ text: row.value.newest }) },
    ]);
    this.list = place.querySelector("#letter-list");
    this.words = place.querySelector("#replay-words");
    this.choice = place.querySelector("form").elements.provider;
    this.more = place.querySelector("#letter-more");
    this.button = place.querySelector("#replay");
    this.last = 0;
    this.due = 0;
    this.wasRunning = false;
    place.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.replay();
    });
    this.more.addEventListener("click", () => this.show());
  }

  async update() {
    // The counts are read from the file, so they are not asked for with every look.
    if (performance.now() < this.due) return;
    this.due = performance.now() + 5000;
    const answer = await ask("data/letters");
    if (!answer) return notice("The router does not answer.", true);
    if (!answer.ok) return write(this.words, lines(await answer.text()));
    const letters = await answer.json();
    this.counts.show(letters.counts.map((value) => ({ key: `${value.provider}/${value.reason}`, value })));
    const names = [...new Set(letters.counts.map((value) => value.provider))];
    const known = [...this.choice.options].slice(1).map((option) => option.value);
    if (names.join("\n") !== known.join("\n")) {
      const chosen = this.choice.value;
      this.choice.replaceChildren(this.choice.options[0], ...names.map((value) => make("option", { value }, visible(value))));
      this.choice.value = names.includes(chosen) ? chosen : "";
    }
    this.report(letters.replay, names.length > 0);
  }

  report(replay, hasLetters) {
    this.button.disabled = replay.running || !hasLetters;
    this.more.disabled = !hasLetters && this.last === 0;
    if (replay.running) write(this.words, "A replay is running.");
    else if (replay.words) write(this.words, lines(replay.words));
    if (this.wasRunning && !replay.running) notice(`The replay has ended: ${visible(replay.words.split("\n").at(-1))}.`);
    this.wasRunning = replay.running;
  }

  async replay() {
    const provider = this.choice.value;
    const words = provider ? `the dead letters of ${visible(provider)}` : "all dead letters";
    if (!window.confirm(`Send ${words} again, by the current rules and the current consent?`)) return;
    const answer = await send("replay", provider ? { provider } : {});
    if (!answer) return notice("The router does not answer.", true);
    if (!answer.ok) return notice(`This was refused: ${visible((await answer.text()).trim())}`, true);
    this.wasRunning = true;
    notice("The replay has begun.");
    this.due = 0;
    this.update();
  }

  /// Shows the next letters, the oldest first.
  async show() {
    const answer = await send("letters", { after: this.last });
    if (!answer?.ok) return notice("The letters cannot be shown.", true);
    const found = (await answer.text()).split("\n").filter(Boolean);
    if (found.length === 0) return notice(this.last === 0 ? "There are no dead letters." : "There are no more.");
    for (const line of found) {
      const letter = JSON.parse(line);
      this.last = letter.id;
      const facts = `${letter.at} · ${letter.provider} · route ${letter.route} · ${letter.reason} after `
        + (letter.attempts === 1 ? "one attempt" : `${count(letter.attempts)} attempts`);
      this.list.append(make("li", {}, make("p", { class: "facts" }, visible(facts)),
        make("p", {}, visible(letter.answer ? `answer ${letter.code}: ${letter.answer}` : `code ${letter.code}`)),
        make("pre", { dir: "ltr" }, visible(content(letter, line)))));
    }
    write(this.more, "Show more letters");
  }
}
