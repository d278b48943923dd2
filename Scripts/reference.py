#!/usr/bin/env python3
"""Writes the reference of all keys of routes.json from the schema on standard input, as Markdown.

usage: switchyard schema | Scripts/reference.py >docs/reference.md

The schema comes from the same declarations by which `switchyard check` reads the file, so the reference cannot differ from the program.
`make reference` writes the page, and `make schema` fails if the page differs from the schema.
"""
import json
import re
import sys

# What a named part of the schema is called in the table, and one value that it accepts.
NAMED = {
    "text": ("string", '"text"'),
    "value": ("any value", None),
    "placeholder": ("placeholder", '"${env:NAME}"'),
    "name": ("name", '"archive"'),
    "key": ("name", '"archive"'),
    "path": ("path", '"properties.price"'),
    "pathKey": ("path", '"properties.price"'),
    "glob": ("glob", '"item_*"'),
    "globKey": ("glob", '"item_*"'),
    "size": ("size", '"16MB"'),
    "time": ("time", '"30s"'),
    "rate": ("rate", '"100/s"'),
}
# Parts with a section of their own.
SECTIONS = {"delivery": "delivery of a provider"}
# Parts that are described elsewhere, and not repeated.
ELSEWHERE = {"handOverTransform": "list of operations, as `routes[].transform`"}


def main():
    schema = json.load(sys.stdin)
    parts = schema["$defs"]
    print("# Reference of routes.json\n")
    print(
        "This page lists every key with its type, its default and its meaning. It is generated from the declarations by which\n"
        "`switchyard check` reads the file (`make reference`), so do not edit it. [routes.md](routes.md), [sources.md](sources.md),\n"
        "[providers.md](providers.md) and [consent.md](consent.md) explain the keys with examples. `switchyard schema` prints the same\n"
        "for an editor.\n"
    )
    print("| type | example | what it is |\n|---|---|---|")
    for line in [
        ("size", '`"16MB"`, `"512KiB"`', "a number of bytes with its unit: B, KB, MB, GB, KiB, MiB, GiB"),
        ("time", '`"500ms"`, `"24h"`', "a duration with its unit: ms, s, m, h, d"),
        ("rate", '`"100/s"`', "a number of events for each second, minute, hour or day: /s, /m, /h, /d"),
        ("path", '`"properties.price"`', 'the place of a member; a key that holds a dot is quoted: `properties["a.b"].c`'),
        ("glob", '`"item_*"`', "a name in which `*` stands for any run of characters"),
        ("name", '`"archive"`', "a name of your choice"),
    ]:
        print("| %s | %s | %s |" % line)
    print("\nEvery string may hold `${env:NAME}` and `${file:PATH}`, except expressions in CEL. The keys of objects hold no placeholders.")
    for name, part in schema["properties"].items():
        print(f"\n## {name}\n")
        section(part, name, parts, name in schema.get("required", []))
    print("\n## delivery\n\nThe section `delivery` of a provider. A module may declare other defaults: `switchyard providers NAME` shows them.\n")
    table(list(rows(parts["delivery"], "", parts)))
    for name, part in parts.items():
        if name.startswith("provider-"):
            print(f"\n## provider: {name.removeprefix('provider-')}\n")
            if part.get("description"):
                print(sentence(part["description"]) + "\n")
            own = [row for row in rows(part, "", parts) if not is_common(row[0])]
            table(own) if own else print("It has no settings.")
    for name, part in parts.items():
        if name.startswith("source-"):
            print(f"\n## source: {name.removeprefix('source-')}\n")
            if part.get("description"):
                print(sentence(part["description"]) + "\n")
            own = [row for row in rows(part, "", parts) if row[0] != "plugin" and row[0].split(".")[0] not in SOURCE_KEYS]
            table(own) if own else print("It has no settings.")


# The keys that every source of a module has.
SOURCE_KEYS = ("consent", "in_flight", "lint")


def is_common(key):
    """True for the keys that every provider has."""
    return key in ("plugin", "delivery") or key.split(".")[0] in ("isolate", "filter", "transform")


def section(part, name, parts, is_required):
    text = [sentence(meaning(part)[0])]
    if is_required:
        text.append("It is required.")
    elif meaning(part)[1]:
        text.append(f"Default: {meaning(part)[1]}.")
    print(" ".join(text).strip())
    # Each plugin of a source has keys of its own.
    choices = (part.get("additionalProperties") or {}) if isinstance(part.get("additionalProperties"), dict) else {}
    plugins = [choice for choice in choices.get("anyOf", []) if "plugin" in choice.get("properties", {})]
    for choice in plugins:
        print(f"\n### {name}: {type_of(choice['properties']['plugin'], parts)[0].strip('`').strip(chr(34))}\n")
        table(list(rows(choice, f"{name}.NAME", parts)))
    found = [] if plugins else list(rows(part, name, parts))
    if name == "sources":
        print("\nA source of a module has these keys; the sections of the modules below list their settings.\n")
        one = next(part for inner, part in parts.items() if inner.startswith("source-"))
        table([("sources.NAME." + row[0],) + row[1:] for row in rows(one, "", parts) if row[0].split(".")[0] in SOURCE_KEYS])
    if name == "providers":
        print("\nEvery provider has these keys; the sections of the modules below list their settings.\n")
        one = next(part for inner, part in parts.items() if inner.startswith("provider-"))
        found = [row for row in rows(one, "", parts) if is_common(row[0])]
        # The schema of one module has its name as the only choice.
        found = [
            ("providers.NAME." + key, "name" if key == "plugin" else kind, "required" if key == "plugin" else fallback, text)
            for key, kind, fallback, text in found
        ]
    if plugins:
        pass
    elif found:
        print()
        table(found)
    else:
        kind, example = type_of(part, parts)
        print(f"\nType: {kind}." + (f" Example: `{example}`." if example else ""))


def table(found):
    print("| key | type | default | meaning |\n|---|---|---|---|")
    for key, kind, fallback, text in found:
        print(f"| `{key}` | {kind} | {fallback} | {text} |")


def rows(part, path, parts):
    """The rows of what is inside of a part: members, elements, and alternatives that are objects."""
    for inner, where in inside(part, path, parts):
        required = inner.get("required", [])
        for name, member in inner.get("properties", {}).items():
            key = f"{where}.{name}" if where else name
            text, fallback = meaning(member)
            kind, example = type_of(member, parts)
            if "default" in member:
                fallback = "`" + json.dumps(member["default"], ensure_ascii=False) + "`"
            if name in required:
                fallback = "required"
            plain = kind == "`true` or `false`" or kind.startswith(("`\"", "integer"))
            if member.get("examples") and (name in required or not fallback) and not plain and "such as" not in text:
                text = sentence(text) + f" Example: `{json.dumps(member['examples'][0], ensure_ascii=False)}`."
            elif example and not fallback and "such as" not in text:
                text = sentence(text) + f" Example: `{example}`."
            yield key, kind, escaped(fallback or ""), escaped(sentence(text))
            if ref(member) not in SECTIONS and not (ref(member) or "").startswith("provider"):
                yield from rows(member, key, parts)


def inside(part, path, parts):
    """The objects with members that a part consists of, each with its path."""
    name = ref(part)
    if name in SECTIONS or name in ELSEWHERE or (name or "").startswith("provider"):
        return
    if name and name not in NAMED:
        part = parts[name]
    if "properties" in part:
        yield part, path
    if isinstance(part.get("additionalProperties"), dict):
        yield from inside(part["additionalProperties"], path + ".NAME" if path else "NAME", parts)
    if isinstance(part.get("items"), dict):
        yield from inside(part["items"], path + "[]", parts)
    for choice in part.get("anyOf", []):
        yield from inside(choice, path, parts)


def ref(part):
    return part.get("$ref", "").removeprefix("#/$defs/") or None


def meaning(part):
    """The description without its default, and the default."""
    text = part.get("description", "")
    match = re.fullmatch(r"(.*?)(?:; ([^;]*) when left out|; by default (.*?)|; (\d[\w.]*|as many as in total))\.?", text)
    if not match:
        return text, None
    fallback = escaped(match[2] or match[3] or match[4])
    # A default that is a value, such as 0600 or ["userId"], looks like one.
    return match[1], f"`{fallback}`" if re.fullmatch(r"""\d[\w.:]*|["\[].*[\]"]""", fallback) else fallback


def sentence(text):
    """The text with a capital letter and a full stop. A word such as `ndjson:` at the beginning stays as it is."""
    if re.match(r"[a-z ]+(?![\w:])", text) and not re.match(r"\w+:", text):
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".:" else text + "."


def escaped(text):
    return text.replace("|", "\\|").replace("*", "\\*") if "`" not in text else text.replace("|", "\\|")


def type_of(part, parts):
    """The type of a value in words, and an example."""
    name = ref(part)
    if name in NAMED and name != "text":
        return NAMED[name]
    if name in ELSEWHERE:
        return ELSEWHERE[name], None
    if name and name not in NAMED:
        return (f"object, see [{name}](#{name})" if name in SECTIONS else "object"), None
    if "const" in part:
        return "`" + json.dumps(part["const"]) + "`", None
    if "enum" in part:
        return " or ".join("`" + json.dumps(value) + "`" for value in part["enum"]), None
    if "anyOf" in part and part.get("type") != "object":
        kinds, example = [], None
        for choice in part["anyOf"]:
            kind, one = type_of(choice, parts)
            kinds += [word for word in kind.split(" or ") if word not in kinds and word != "placeholder"]
            example = example or (one if kind != "placeholder" else None)
        return " or ".join(kinds) or "string", example
    kind = part.get("type")
    if kind == "array":
        inner, example = type_of(part["items"], parts) if isinstance(part.get("items"), dict) else ("any value", None)
        return f"list of {inner}", f"[{example}]" if example else None
    if kind in ("integer", "number"):
        bounds = [part.get("minimum", part.get("exclusiveMinimum")), part.get("maximum", part.get("exclusiveMaximum"))]
        if bounds[0] is not None and bounds[1] is not None:
            return f"{kind}, {bounds[0]} to {bounds[1]}", None
        if bounds[0] is not None:
            return f"{kind}, at least {bounds[0]}", None
        return kind, None
    if kind == "boolean":
        return "`true` or `false`", None
    if isinstance(kind, list):
        return " or ".join(kind), None
    if name == "text":
        return NAMED[name][0], None
    return kind or "any value", None


if __name__ == "__main__":
    main()
