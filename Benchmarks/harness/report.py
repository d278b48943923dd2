"""Prints the results as a table for people, and saves them as a JSON file for comparison with a later run."""

import json
from dataclasses import asdict, dataclass


@dataclass
class Figure:
    """A number that can have a target: a minimum, or a limit that it must be under."""

    name: str
    value: float
    unit: str = ""
    at_least: float = None
    under: float = None

    def target(self):
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return f"< {self.under:g}" if self.under is not None else ""

    def verdict(self):
        if self.at_least is None and self.under is None:
            return ""
        met = self.value >= self.at_least if self.at_least is not None else self.value < self.under
        return "met" if met else "MISSED"

    def text(self):
        return str(self.value) if isinstance(self.value, int) else f"{self.value:.2f}" if self.value < 100 else f"{self.value:.0f}"


class Report:
    def __init__(self, machine, versions, input, judged):
        """`judged` is true if the input is large enough to compare the figures with their targets."""
        self.machine, self.versions, self.input, self.judged = machine, versions, input, judged
        self.rates, self.figures, self.notes = {}, [], []

    def rate(self, contender):
        rates = contender.rates()
        self.rates[contender.name] = {"median": contender.rate(), "least": min(rates), "most": max(rates)}

    def add(self, name, value, unit="", at_least=None, under=None):
        self.figures.append(Figure(name, value, unit, at_least, under))

    def note(self, text):
        self.notes.append(text)

    def save(self, path):
        with open(path, "w") as file:
            json.dump({
                "machine": self.machine, "versions": self.versions, "input": self.input, "MB/s": self.rates,
                "figures": [asdict(f) for f in self.figures], "notes": self.notes,
            }, file, indent=2)
            file.write("\n")

    def show(self, earlier):
        """Prints the table. `earlier` is the content of a file that `save` wrote in another run, or None."""
        print()
        for name in ("machine", "versions", "input"):
            print(f"{name:<10}" + ", ".join(f"{k} {v}" for k, v in getattr(self, name).items()))
        if earlier and earlier["machine"] != self.machine:
            self.note("the earlier run was on another machine: compare the ratios, not the rates")

        before = (earlier or {}).get("MB/s", {})
        print(f"\n{'':<46}{'MB/s':>9}{'least':>9}{'most':>9}" + (f"{'before':>10}" if earlier else ""))
        for name, r in self.rates.items():
            was = change(r["median"], before.get(name, {}).get("median")) if earlier else ""
            print(f"{name:<46}{r['median']:>9.0f}{r['least']:>9.0f}{r['most']:>9.0f}{was}")

        before = {f["name"]: f["value"] for f in (earlier or {}).get("figures", [])}
        print(f"\n{'':<46}{'value':>9} {'':<6}{'target':>8}  {'':<6}" + (f"{'before':>12}" if earlier else ""))
        for f in self.figures:
            verdict = f.verdict() if self.judged else ""
            was = change(f.value, before.get(f.name)) if earlier else ""
            print(f"{f.name:<46}{f.text():>9} {f.unit:<6}{f.target():>8}  {verdict:<6}{was}".rstrip())
        print()
        for note in self.notes:
            print(f"note: {note}")


def change(now, was):
    if was is None:
        return f"{'none':>10}"
    return f"{was:>10.2f}" + (f" ({100 * (now - was) / was:+.0f} %)" if was else "")


def load(path):
    with open(path) as file:
        return json.load(file)
