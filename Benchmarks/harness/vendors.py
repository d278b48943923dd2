"""Measures the modules of vendors: their mapping on one core, what they deliver to a server, their memory while they wait, and a transform
that a provider has itself."""

import json
import os
import tempfile

from harness import nginx
from harness.measure import Contender, idle_kb, interleave, ratio

LEAST = 300  # thousand events a second, of posthog
SETTINGS = {
    "posthog": {"key": "phc_test"}, "mixpanel": {"token": "t0k3n"}, "amplitude": {"key": "am-test"},
    "ga4": {"api_secret": "s3cr3t", "measurement_id": "G-1"}, "segment": {"write_key": "wk"}, "rudderstack": {"write_key": "wk"},
    "otlp": {}, "sentry": {"dsn": "https://k0123456789@sentry.invalid/42"},
}
STEPS = [{"drop": ["context.ip"]}, {"set": {"properties.source": "bench"}}, {"rename": {"properties.price": "properties.value"}}]


def cases(report, rows, executable, is_module, input, rounds, progress):
    """`rows` are those of vendor-bench."""
    for name, _, rate, *_ in rows:
        # The other vendors need not reach more than 70 % of what is asked of posthog.
        report.add(f"mapping, {name}, thousand events a second", int(rate) / 1000, at_least=LEAST if name == "posthog" else 0.7 * LEAST)
    with tempfile.TemporaryDirectory() as folder:
        memory(report, executable, is_module, folder, progress)
        delivery(report, executable, input, rounds, folder, progress)
        transforms(report, executable, input, rounds, folder, progress)


def command(executable, folder, name, providers, steps=()):
    """Writes a plan, and returns the command that runs it."""
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump({"providers": providers, "routes": [{"transform": list(steps), "to": list(providers)}]}, file)
    return [executable, "run", "-c", path, "--workers", "1"]


def memory(report, executable, is_module, folder, progress):
    progress("vendors: memory")

    def resident(name, vendors):
        providers = {f"{vendor}-{number}": {"plugin": vendor, "url": "http://127.0.0.1:9", **SETTINGS[vendor]}
                     for number, vendor in enumerate(vendors)}
        return idle_kb(command(executable, folder, name, providers), is_module)[0] / 1024

    one, two = resident("one", ["posthog"]), resident("two", ["posthog", "posthog"])
    report.add("a second lane of a vendor, waiting", two - one, "MiB", under=1)
    report.add("one vendor, waiting, resident", one, "MiB")
    report.add("eight vendors, waiting, resident", resident("eight", list(SETTINGS)), "MiB", under=30)


def delivery(report, executable, input, rounds, folder, progress):
    """Everything from the pipe to the answer of a server, with one worker. The events are as large as those of the mapping."""
    path = os.path.join(folder, "small.ndjson")
    count = 0
    with open(input) as events, open(path, "w") as small:
        for line in events:
            event = json.loads(line)
            event["properties"] = dict(list(event.get("properties", {}).items())[:3])
            event["context"] = {"app": event.get("context", {}).get("app")}
            print(json.dumps(event, separators=(",", ":")), file=small)
            count += 1
    with nginx.serving(folder) as port:
        posthog = {"plugin": "posthog", "url": f"http://127.0.0.1:{port}", "compression": "none", **SETTINGS["posthog"]}
        out = Contender("switchyard to posthog, without compression, 1 worker", command(executable, folder, "posthog", {"out": posthog}), path)
        interleave([out], rounds, progress)
    report.rate(out)
    report.add("events to posthog", count * out.rate() * 1e6 / out.bytes / 1000, "thousand/s", at_least=LEAST)
    report.add("posthog, peak memory", out.peak_kb / 1024, "MiB", under=40)


def transforms(report, executable, input, rounds, folder, progress):
    """The provider's own steps run on the thread of its lane, which scans each event again."""
    route = Contender("switchyard, steps on the route, 1 worker", command(executable, folder, "route", {"out": {"plugin": "noop"}}, STEPS), input)
    own = Contender("switchyard, the same on the provider", command(
        executable, folder, "own", {"out": {"plugin": "noop", "transform": STEPS}}), input)
    interleave([route, own], rounds, progress)
    report.rate(route)
    report.rate(own)
    report.add("steps on the provider / on the route", ratio(own, route), at_least=0.9)
