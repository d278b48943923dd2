// The editor of a draft of routes.json: the router checks it while a person types, suggests what may stand at the cursor, and says what it would
// do to the next 1,000 events. Nothing of a draft is loaded, and it is kept in this page alone.

import { ask, notice, send } from "./asking.js";
import { Schema } from "./schema.js";
import { count, make, visible, write } from "./show.js";

const pause = 500;
const mostHints = 24;

export class Draft {
  constructor(place) {
    this.text = place.querySelector("#draft-text");
    this.verdict = place.querySelector("#draft-verdict");
    this.faults = place.querySelector("#draft-faults");
    this.hints = place.querySelector("#draft-hints");
    this.button = place.querySelector("#draft-try");
    this.words = place.querySelector("#draft-words");
    this.result = place.querySelector("#draft-result");
    this.timer = 0;
    this.checked = null;
    this.trial = null;
    this.schema = null;
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keyup", () => this.hint());
    this.text.addEventListener("click", () => this.hint());
    place.querySelector("#draft-load").addEventListener("click", () => this.load());
    this.button.addEventListener("click", () => (this.trial === null ? this.try() : this.stop()));
    window.addEventListener("pagehide", () => {
      if (this.trial !== null) send(`draft/try/${this.trial}/end`, {}, { keepalive: true });
      this.stop();
    });
  }

  /// The view was opened.
  async update() {
    if (this.schema) return;
    const answer = await ask("data/schema");
    if (!answer?.ok) return;
    this.schema = new Schema(await answer.json());
    // The person may have begun meanwhile.
    if (document.activeElement === this.text) this.hint();
  }

  leave() {
    this.stop();
  }

  async load() {
    const answer = await send("configuration");
    if (!answer?.ok) return notice("The configuration cannot be shown.");
    if (this.text.value.trim() && !window.confirm("Replace the draft by the configuration of the router?")) return;
    this.text.value = await answer.text();
    this.text.focus();
    this.changed();
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), pause);
    this.hint();
  }

  // MARK: - The check

  async check() {
    const text = this.text.value;
    if (text === this.checked) return;
    const answer = await send("draft/check", { text });
    if (!answer) return this.say("The router does not answer.");
    if (!answer.ok) return this.say(`This was refused: ${visible((await answer.text()).trim())}`);
    if (text !== this.text.value) return this.changed();
    this.checked = text;
    const { faults, left } = await answer.json();
    this.faults.replaceChildren(...faults.map((fault) => {
      const button = make("button", { type: "button" }, `${fault.line}:${fault.column}`);
      button.addEventListener("click", () => this.go(fault.line, fault.column));
      return make("li", {}, button, " ", visible(fault.message));
    }));
    this.button.disabled = faults.length > 0;
    this.say(faults.length === 0 ? `The draft has no fault.${left.length > 0 ? ` Not checked: ${visible(left.join(", "))}.` : ""}`
      : `The draft has ${faults.length === 1 ? "a fault" : `${count(faults.length)} faults`}.`);
  }

  /// Moves the cursor to a place of the text.
  go(line, column) {
    const before = this.text.value.split("\n").slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(before + column - 1, before + column - 1);
    this.text.scrollTop = (line - 4) * parseFloat(getComputedStyle(this.text).lineHeight);
    this.hint();
  }

  /// What changes here is spoken, since the person waits for it.
  say(words) {
    write(this.verdict, words);
  }

  // MARK: - What may stand at the cursor

  hint() {
    if (!this.schema) return;
    const at = this.text.selectionStart;
    const { place, hints } = this.schema.hints(this.text.value, at);
    this.hints.replaceChildren(...hints.slice(0, mostHints).map((hint) => {
      const button = make("button", { type: "button", title: hint.about ?? null }, visible(hint.word));
      button.addEventListener("click", () => {
        this.text.focus();
        this.text.setRangeText(hint.insert, hint.from, hint.to, "end");
        this.changed();
      });
      return make("li", {}, button);
    }));
    this.hints.setAttribute("aria-label", `What may stand at the cursor, in ${place || "the file"}`);
    this.hints.parentElement.hidden = hints.length === 0;
  }

  // MARK: - What it would do

  async try() {
    const answer = await send("draft/try", { text: this.text.value });
    if (!answer) return this.told("The router does not answer.");
    if (!answer.ok) return this.told(`This was refused: ${visible((await answer.text()).trim())}`);
    this.trial = (await answer.json()).trial;
    write(this.button, "Stop");
    write(this.result, "");
    this.told("Waiting for events.");
    const number = this.trial;
    while (this.trial === number) {
      const next = await send(`draft/try/${number}`);
      // A request that waits in the router has its answer before the comparison ends.
      if (this.trial !== number) return send(`draft/try/${number}/end`);
      if (!next?.ok) {
        this.ended();
        return this.told("The router has ended the comparison.");
      }
      const state = await next.json();
      write(this.words, `${count(state.events)} of ${count(state.most)} events.`);
      write(this.result, state.text.split("\n").map(visible).join("\n"));
      if (state.done) {
        this.ended();
        this.told(`Compared ${count(state.events)} events.`);
        send(`draft/try/${number}/end`);
      }
    }
  }

  stop() {
    if (this.trial === null) return;
    this.ended();
    this.told("Ended.");
  }

  ended() {
    this.trial = null;
    write(this.button, "Compare with the next 1,000 events");
  }

  told(words) {
    write(this.words, words);
    notice("");
    notice(words);
  }
}
