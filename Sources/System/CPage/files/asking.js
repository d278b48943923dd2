// The requests of the page. Each names the session by its cookie, and each that changes something also by its token.

import { write } from "./show.js";

let token = "";
let isEnded = false;

/// True if the session has ended. Nothing is asked then.
export function isOver() {
  return isEnded;
}

/// Says something to the person. Readers of the screen speak it. The end of the session is the last word.
export function notice(words, isBad = false) {
  if (isEnded) return;
  const place = document.getElementById("notice");
  write(place, words);
  place.classList.toggle("bad", isBad);
}

/// Learns the token of the session.
export async function begin() {
  const answer = await ask("data/session");
  if (answer?.ok) token = (await answer.json()).token;
}

/// Asks the router. Returns null if it does not answer.
export async function ask(path) {
  return noted(await fetch(path, { cache: "no-store" }).catch(() => null));
}

/// Asks the router to do something. `form` has names and values.
export async function send(path, form = {}, more = {}) {
  return noted(await fetch(path, {
    method: "POST", headers: { "X-Switchyard-Token": token }, body: new URLSearchParams(form), ...more,
  }).catch(() => null));
}

function noted(answer) {
  if (answer?.status === 401) {
    notice("The session has ended. switchyard page, run on the machine of the router, prints a new link.", true);
    isEnded = true;
  }
  return answer;
}
