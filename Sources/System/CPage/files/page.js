// The page: asks the router every two seconds while somebody looks, and shows what it answers in the view that is open.

import { ask, begin, isOver, notice, send } from "./asking.js";
import { Draft } from "./draft.js";
import { Flow } from "./flow.js";
import { Lanes } from "./lanes.js";
import { Letters } from "./letters.js";
import { bytes, count, make, rate, seconds, Table, visible, write } from "./show.js";
import { Tap } from "./tap.js";

const interval = 2000;
const place = (id) => document.getElementById(id);

// MARK: - The overview

class Facts {
  constructor(place) {
    this.place = place;
    this.values = new Map();
  }

  show(facts) {
    for (const [name, text, of, as] of facts) {
      let value = this.values.get(name);
      if (!value) {
        value = make("dd");
        if (of) Object.assign(value.dataset, { of, as });
        this.values.set(name, value);
        this.place.append(make("div", {}, make("dt", {}, name), value));
      }
      write(value, visible(text));
    }
  }
}

/// A column that shows a member of the status as it is.
function member(head, list, name, as = "count") {
  const texts = { count, bytes, seconds, rate, text: String };
  return {
    head,
    isText: as === "text",
    // A verdict that a route has not given yet is not in the status.
    cell: (row) => ({ text: texts[as](row.value[name] ?? (as === "count" ? 0 : null)), of: `${list}/${row.key}/${name}`, as }),
  };
}

/// A column of how much a member grows in a second.
function growth(head, name) {
  return { head, cell: (row) => ({ text: rate(row.growth(name)) }) };
}

const nameColumn = (head) => ({ head, isText: true, cell: (row) => ({ text: row.key }) });

class Overview {
  constructor() {
    this.facts = new Facts(place("facts"));
    this.flow = new Flow(place("flow"));
    this.lanes = new Lanes(place("hours"));
    this.sources = new Table(place("sources"), "Sources", [
      nameColumn("Source"), growth("Events/s", "events"), member("Events", "inputs", "events"), member("Invalid", "inputs", "rejected"),
    ]);
    this.routes = new Table(place("routes"), "Routes", [
      nameColumn("Route"), { head: "To", isText: true, cell: (row) => ({ text: row.to.join(", ") }) },
      growth("Admitted/s", "admitted"),
      ...[["Admitted", "admitted"], ["Filtered", "filtered"], ["Denied", "denied"], ["Held", "held"], ["Sampled out", "sampled_out"],
        ["Limited", "limited"], ["Withheld", "withheld"], ["Violating", "violating"]].map(([head, name]) => member(head, "routes", name)),
    ]);
    this.providers = new Table(place("providers"), "Providers", [
      nameColumn("Provider"), member("State", "lanes", "phase", "text"), member("Breaker", "lanes", "breaker", "text"),
      member("Rate", "lanes", "rate_per_s", "rate"), member("Waiting", "lanes", "events"), member("Oldest", "lanes", "oldest_age_s", "seconds"),
      member("Memory", "lanes", "memory_bytes", "bytes"), member("Disk", "lanes", "disk_bytes", "bytes"),
      member("Delivered", "lanes", "delivered"), member("Rejected", "lanes", "rejected"), member("Expired", "lanes", "expired"),
      member("Dropped", "lanes", "dropped"), member("Retries", "lanes", "retries"), member("Failed in a row", "lanes", "failed_attempts"),
      { head: "Last error", isText: true, isLong: true, cell: (row) => ({ text: errorText(row.value) }) },
    ]);
    this.consent = new Table(place("consent"), "Consent", [
      nameColumn("Consent events of"), ...[["Taken", "taken"], ["Forbidden", "forbidden"], ["Broken", "broken"], ["Unwritten", "unwritten"]]
        .map(([head, name]) => ({
          head, cell: (row) => ({ text: count(row.value.consent[name]), of: `inputs/${row.key}/consent.${name}`, as: "count" }),
        })),
    ]);
    this.held = new Facts(place("consent").appendChild(make("dl")));
    this.before = null;
    this.shape = null;
    this.generation = 0;
  }

  async update() {
    const answer = await ask("data/status");
    if (!answer?.ok) {
      notice("The router does not answer.", true);
      return;
    }
    const status = await answer.json();
    const now = performance.now() / 1000;
    if (!this.shape || this.generation !== status.generation) {
      const shape = await ask("data/flow");
      if (shape?.ok) [this.shape, this.generation] = [await shape.json(), status.generation];
    }
    const before = this.before && this.before.status.pid === status.pid ? this.before : null;
    this.before = { status, now };
    this.show(status, before, before ? now - before.now : 0);
    await this.lanes.update(status.lanes);
    notice("");
  }

  show(status, before, passed) {
    const rows = (list, key, more = () => ({})) => status[list].map((value) => {
      const old = before?.status[list].find((item) => item[key] === value[key]);
      const growth = (name) => (old && passed > 0 ? Math.max(0, ((value[name] ?? 0) - (old[name] ?? 0)) / passed) : null);
      return { key: value[key], value, growth, ...more(value) };
    });
    const sources = rows("inputs", "name");
    const routes = rows("routes", "name", (route) => ({ to: this.shape?.routes.find((one) => one.name === route.name)?.to ?? [] }));
    const lanes = rows("lanes", "provider", (lane) => ({
      isBad: lane.phase !== "open" || lane.breaker !== "closed" || lane.failed_attempts > 0 || lane.store_fault !== null,
    }));
    const total = before && passed > 0 ? Math.max(0, (status.events - before.status.events) / passed) : null;
    this.facts.show([
      ["Events", count(status.events), "events", "count"], ["Events/s", rate(total)], ["Plan", count(status.generation), "generation", "count"],
      ["Running for", seconds(status.uptime_s), "uptime_s", "seconds"], ["Process", String(status.pid), "pid", "text"],
      ["Version", status.version, "version", "text"], ["Configuration", status.configuration, "configuration", "text"],
    ]);
    this.sources.show(sources);
    this.routes.show(routes);
    this.providers.show(lanes);
    this.consent.show(sources);
    this.held.show([
      ["Held for consent", status.held ? count(status.held.events) : "–", "held/events", "count"],
      ["Bytes held", status.held ? bytes(status.held.bytes) : "–", "held/bytes", "bytes"],
      ["Open erasures", status.erasures ? count(status.erasures.jobs.reduce((sum, job) => sum + job.jobs, 0)) : "–"],
    ]);
    this.flow.show(sources, routes, lanes, total);
  }
}

function errorText(lane) {
  const parts = [];
  if (lane.last_error) parts.push(`${lane.last_error.message || `code ${lane.last_error.code}`} (${seconds(lane.last_error.age_s)} ago)`);
  if (lane.store_fault) parts.push(lane.store_fault);
  return parts.join("; ") || "–";
}

// MARK: - Views

const views = new Map([["overview", new Overview()], ["letters", new Letters(place("letters"))], ["tap", new Tap(place("tap"))],
  ["draft", new Draft(place("draft"))]]);
let shown = "";

/// The view that the address names. Another fragment, such as that of the link to the content, leaves it as it is.
function view() {
  const name = location.hash.slice(1);
  return views.has(name) ? name : shown || "overview";
}

function open() {
  if (shown && shown !== view()) views.get(shown).leave?.();
  shown = view();
  for (const name of views.keys()) {
    place(name).hidden = name !== view();
    const link = document.querySelector(`nav a[href="#${name}"]`);
    if (name === view()) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

let timer = 0;

async function run() {
  clearTimeout(timer);
  if (isOver() || document.hidden) return;
  await views.get(view()).update();
  clearTimeout(timer);
  if (!isOver()) timer = setTimeout(run, interval);
}

place("leave").addEventListener("click", async () => {
  await send("leave");
  await ask("data/session");
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) run(); });
window.addEventListener("hashchange", () => {
  open();
  run();
});

await begin();
open();
run();
