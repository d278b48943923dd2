"""Measures the cost of rules as expressions: beside the same rules without expressions, beside simdjson's DOM and jq, and to compile."""

import json
import os
import statistics
import tempfile

from harness import work
from harness.measure import Contender, Failure, interleave, ratio, run

PROVIDERS = {"out": {"plugin": "noop"}}
SHAPES = [
    "event.startsWith('item_{n}_') || event.endsWith('_{n}')", "type == 'track' && context.os.name == 'system {n}'",
    "event in ['a{n}', 'b{n}', 'c{n}'] && !(context.locale == 'de-{n}')", "has(properties.price) && properties.price > {n}.5",
    "properties.items.exists(item, item.qty >= {n} && item.sku != 'sku {n}')",
]


def cases(report, router, routes, peer, simdjson, large, small, rounds, smoke, progress):
    filter_and_drop(report, router, routes, large, small, rounds, progress)
    ten_conditions(report, router("conditions", 1), peer("conditions.jq"), simdjson, large, small, rounds, progress)
    tracking_plan(report, router("idle", 1)[0], large, rounds, progress)
    compilation(report, router("idle", 1)[0], 50 if smoke else 500, 1 if smoke else 15, progress)


def filter_and_drop(report, router, routes, large, small, rounds, progress):
    plain = Contender("switchyard, filter and drop, by match", router("filter-drop", 1), large)
    cel = Contender("switchyard, filter and drop, in CEL", router("filter-drop-cel", 1), large)
    wanted, got = (work.filtered_by_switchyard(router(name, 1), routes(name), small) for name in ("filter-drop", "filter-drop-cel"))
    if got != wanted:
        raise Failure("the rules in CEL admit other events than the rules with match")
    interleave([plain, cel], rounds, progress)
    report.rate(plain)
    report.rate(cel)
    report.add("filter and drop, in CEL / by match", ratio(cel, plain), at_least=0.9)


def ten_conditions(report, command, program, simdjson, large, small, rounds, progress):
    """
    Measures ten routes with one condition each, over five members. Each route writes the events for which its condition is true. simdjson
    only finds the members. jq decides the same and writes the same events. A second jq writes ten booleans for each event, and no event.
    """
    with open(program) as file:
        conditions = file.read()
    jq, deciding = ["jq", "-c", f". as $event | ({conditions})[] | select(.) | $event"], ["jq", "-c", conditions]
    if work.admitted(command, small) != work.held(deciding, small):
        raise Failure("the ten conditions are true for other events in jq than in switchyard")
    ways = [[simdjson, way, "members"] for way in ("lines", "many")]
    for way in ways:
        found = work.told(way, small)
        if found["members"] != 5 * found["events"]:
            raise Failure(f"simdjson found {found['members']} members in {found['events']} events, not five in each")
    ours = Contender("switchyard, ten conditions, 1 worker", command, large)
    lines, many = (Contender(f"simdjson DOM, five members, {way[1]}", way, large) for way in ways)
    same = Contender("jq, ten conditions", jq, small)
    less = Contender("jq, ten conditions, decided only", deciding, small)
    contenders = [ours, lines, many, same, less]
    interleave(contenders, rounds, progress)
    for contender in contenders:
        report.rate(contender)
    report.add("ten conditions / simdjson DOM", ratio(ours, max(lines, many, key=Contender.rate)), at_least=0.5)
    report.add("ten conditions / jq", ratio(ours, same), at_least=30)
    report.add("ten conditions / jq that only decides", ratio(ours, less))


NAMES = [
    "item_viewed", "item_added", "item_removed", "item_shared", "search_performed", "search_cleared", "checkout_started",
    "checkout_completed", "error_shown", "error_retried", "session_started", "session_ended", "video_played", "level_completed",
]
TEXT, AMOUNT, COUNT = {"type": "string", "maxLength": 100}, {"type": "number", "minimum": 0}, {"type": "integer", "minimum": 0}
ITEM = {"type": "object", "required": ["sku", "qty"], "properties": {"sku": TEXT, "qty": COUNT, "price": AMOUNT}, "additionalProperties": False}
PROPERTIES = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "revenue": AMOUNT, "price": AMOUNT, "quantity": COUNT, "currency": {"enum": ["USD", "EUR", "JPY", "BRL"]}, "name": TEXT,
        "category": TEXT, "sku": {"type": "string", "minLength": 10, "maxLength": 10}, "in_stock": {"type": "boolean"},
        "coupon": {"type": ["string", "null"]}, "position": COUNT, "query": TEXT, "duration_ms": COUNT, "ratio": AMOUNT, "catalog_id": COUNT,
        "url": TEXT, "items": {"type": "array", "items": ITEM}, "tags": {"type": "array", "items": TEXT},
        "screen": {"type": "object", "properties": {"name": TEXT, "depth": COUNT}},
    },
}


def tracking_plan(report, executable, large, rounds, progress):
    """Measures a tracking plan that all events satisfy, with a schema of every member of `properties`, beside the same route without it."""
    with tempfile.TemporaryDirectory() as folder:
        with open(path(folder, "plan"), "w") as file:
            events = {name: {"violation": "reject", "properties": PROPERTIES} for name in NAMES}
            json.dump({"unplanned": "reject", "require": ["messageId"], "events": events}, file)
        rules = {"providers": {"out": {"plugin": "file", "path": "/dev/null"}}, "routes": [{"to": ["out"]}]}
        contenders = []
        for name, more in (("without a plan", {}), ("with a tracking plan", {"plan": path(folder, "plan")})):
            with open(path(folder, name), "w") as file:
                json.dump(rules | more, file)
            command = [executable, "run", "-c", path(folder, name), "--workers", "1"]
            contenders.append(Contender(f"switchyard, one route, {name}", command, large))
        interleave(contenders, rounds, progress)
        for contender in contenders:
            report.rate(contender)
        report.add("a tracking plan / none", ratio(contenders[1], contenders[0]), at_least=0.7)


def compilation(report, executable, count, times, progress):
    """Measures the start and end of a router with `count` routes that have one expression each, minus those with one route."""
    with tempfile.TemporaryDirectory() as folder:
        taken = {1: [], count: []}
        for number in (1, count):
            with open(path(folder, number), "w") as file:
                rules = [{"where": SHAPES[n % len(SHAPES)].format(n=n), "to": list(PROVIDERS)} for n in range(number)]
                json.dump({"providers": PROVIDERS, "routes": rules}, file)
        for round in range(times):
            progress(f"starting with {count} routes, {round + 1} of {times}")
            for number, seconds in taken.items():
                seconds.append(run([executable, "run", "-c", path(folder, number)], os.devnull).seconds)
    progress("")
    more = [1000 * (many - one) for one, many in zip(*taken.values())]
    report.add(f"compiling {count} routes", statistics.median(more), "ms", under=50)


def path(folder, number):
    return os.path.join(folder, f"{number}.json")
