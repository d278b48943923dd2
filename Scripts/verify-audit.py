#!/usr/bin/env python3
"""Verifies an audit trail, or proofs from one, with nothing of Switchyard and nothing but the standard library.

usage: verify-audit.py --key PUBLICKEY [--head FILE] FOLDER      the folder "audit" of a state folder, or an export of it
       verify-audit.py --key PUBLICKEY --proof FILE [--id ID --hashing SECRET]      the lines of `switchyard audit prove --json`
       verify-audit.py --test                                     the published test vectors of RFC 6962 and RFC 8032

Prints what is wrong, one line each. Exits with 0 if nothing is, and with 1 otherwise. The formats are those of RFC 6962 and of C2SP
tlog-tiles, signed-note and tlog-checkpoint; docs/audit.md describes the entries.
"""
import base64, hashlib, hmac, json, os, sys

# Ed25519, RFC 8032, in affine-free coordinates.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, a):
    total = (0, 1, 1, 0)
    while n:
        if n & 1:
            total = add(total, a)
        a, n = add(a, a), n >> 1
    return total


def point(text):
    y = int.from_bytes(text, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (not x and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point(bytes.fromhex("58" + "66" * 31))


def is_signed(key, text, signature):
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or not a or not r or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % L
    one, other = times(s, BASE), add(r, times(h, a))
    return (one[0] * other[2] - other[0] * one[2]) % P == 0 and (one[1] * other[2] - other[1] * one[2]) % P == 0


# Trees, RFC 6962, section 2.1.
def leaf(data):
    return hashlib.sha256(b"\0" + data).digest()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def tree(hashes):
    """The root of the leaves with these hashes."""
    stack = []  # roots of perfect subtrees with their sizes
    for hash in hashes:
        size = 1
        while stack and stack[-1][1] == size:
            hash, size = node(stack.pop()[0], hash), 2 * size
        stack.append((hash, size))
    if not stack:
        return hashlib.sha256().digest()
    root = stack.pop()[0]
    while stack:
        root = node(stack.pop()[0], root)
    return root


def climb(hash, index, size, path):
    """The root that a path leads to, or None."""
    last = size - 1
    if not 0 <= index <= last:
        return None
    for sibling in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            hash = node(sibling, hash)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            hash = node(hash, sibling)
        index, last = index >> 1, last >> 1
    return hash if last == 0 else None


# Signed heads.
def unbase(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("base64 that is spelled in another way")
    return data


def head(data, key):
    """The size and the root of a head that the key has signed."""
    name, digits, public = key.split("+", 2)
    public = unbase(public)
    number = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
    if public[0] != 1 or len(public) != 33 or number.hex() != digits:
        raise ValueError("the public key is not valid")
    text, _, signatures = data.decode().rpartition("\n\n")
    text += "\n"
    good = False
    if not signatures.endswith("\n"):
        raise ValueError("it is cut off")
    for line in signatures[:-1].split("\n"):
        dash, signer, signature = line.split(" ")
        signature = unbase(signature)
        if dash != "\u2014":
            raise ValueError("a line is no signature")
        if signer == name and signature[:4] == number:
            if not is_signed(public[1:], text.encode(), signature[4:]):
                raise ValueError("its signature does not fit its text")
            good = True
    origin, size, root = text[:-1].split("\n")[:3]
    if not good or origin != name or str(int(size)) != size or int(size) < 0 or len(unbase(root)) != 32:
        raise ValueError("it is not a head that this key has signed")
    return int(size), unbase(root)


# A trail.
def path(level, index):
    parts = ["%03d" % (index % 1000)]
    while index >= 1000:
        index //= 1000
        parts.insert(0, "x%03d" % (index % 1000))
    return os.path.join("tile", str(level), *parts)


def read(*names):
    for name in names:
        if os.path.isfile(name):
            with open(name, "rb") as file:
                return file.read()
    return None


def entries(data, most):
    found, at = [], 0
    while len(found) < most and len(data) - at >= 2:
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data):
            break
        found.append(data[at + 2 : end])
        at = end
    return found, at


def check_named(entry, number, place, texts, faults, missing):
    """Checks the texts and the verdicts that an entry names."""
    for name in {entry[member] for member in ("text_sha256", "plan") if member in entry} - texts:
        if len(name) != 64 or set(name) - set("0123456789abcdef"):
            raise ValueError("a name of a text is not valid")
        texts.add(name)
        text = read(place("texts", name))
        if os.path.isdir(place("texts")) and (text is None or hashlib.sha256(text).hexdigest() != name):
            faults.append("the text of entry %d is missing or was changed" % number)
    if entry.get("rows") and os.path.isdir(place("verdicts")):
        file, count, at, width = entry["file"], entry["rows"], entry["offset"], entry["width"]
        if not file.isdecimal() or count < 0 or at < 0 or width < 16:
            raise ValueError("the place of its verdicts is not valid")
        rows = (read(place("verdicts", file)) or b"")[at : at + count * width]
        if len(rows) < count * width:
            missing.append((number, "the verdicts of entry %d are missing" % number))
        elif tree(leaf(rows[at : at + width]) for at in range(0, len(rows), width)) != unbase(entry["root"]):
            faults.append("the verdicts of entry %d were changed" % number)
        else:
            check_counts(entry, number, rows, width, faults)


def check_counts(entry, number, rows, width, faults):
    """Compares the rows with the counts of the entry. The entry counts all events, and an event that was held cannot be held again."""
    routes, words = entry["routes"], entry["verdicts"]
    if width != 16 + len(routes):
        raise ValueError("its rows have not one verdict for each route")
    for route, counts in enumerate(entry["counts"]):
        column = rows[16 + route :: width]
        for verdict in set(column):
            word = words.get(str(verdict))
            if column.count(verdict) > counts.get(word, 0) or entry.get("held") and word == "held":
                faults.append("the verdicts of entry %d do not fit its counts" % number)


def verify(folder, key, kept):
    faults, missing, hashes, texts, pruned = [], [], [], set(), 0
    place = lambda *names: os.path.join(folder, *names)
    try:
        size, root = head(read(place("checkpoint")) or b"", key)
    except (ValueError, IndexError) as fault:
        return ["checkpoint: %s" % fault], 0
    for bundle in range((size + 255) // 256):
        count = min(256, size - 256 * bundle)
        data = read(place("tail-%d" % bundle), place(path("entries", bundle)), place(path("entries", bundle) + ".p", str(count)))
        tile = read(place(path(0, bundle))) if count == 256 else None
        if tile is not None and len(tile) != 256 * 32:
            faults.append("%s: has not 256 hashes" % path(0, bundle))
            tile = None
        tile = tile and [tile[at : at + 32] for at in range(0, len(tile), 32)]
        tail = lambda bundle: os.path.isfile(place("tail-%d" % bundle))
        if count == 256 and tile is None and not tail(bundle):
            faults.append("%s: is missing" % path(0, bundle))
        if data is None:
            missing.append((256 * bundle, "entries %d to %d are missing" % (256 * bundle, 256 * bundle + count - 1)))
            hashes += tile or []
            continue
        found, end = entries(data, count)
        if len(found) < count:
            faults.append("entries from %d on are missing or changed" % (256 * bundle + len(found)))
        if count == 256 and end < len(data):
            faults.append("bundle %d has more than its entries" % bundle)
        for index, entry in enumerate(found):
            number, hash = 256 * bundle + index, leaf(entry)
            if tile and tile[index] != hash:
                faults.append("entry %d was changed, or its hash" % number)
            hashes.append(hash)
            try:
                entry = json.loads(entry)
                if not isinstance(entry, dict):
                    continue
            except (ValueError, RecursionError):
                continue
            try:
                if entry.get("kind") == "pruned":
                    pruned = max(pruned, entry.get("entries", 0))
                check_named(entry, number, place, texts, faults, missing)
            except (ValueError, KeyError, TypeError) as fault:
                faults.append("entry %d has a form that is not known: %s" % (number, fault))
    faults += [fault for number, fault in missing if number >= pruned]
    level = 1
    while size >> 8 * (level + 1):
        for index in range(size >> 8 * (level + 1)):
            tile = read(place(path(level, index)))
            if tile is None and not tail((index + 1 << 8 * level) - 1):
                faults.append("%s: is missing" % path(level, index))
            for at in range(256) if tile is not None else []:
                below = read(place(path(level - 1, 256 * index + at)))
                if below and tree(below[i : i + 32] for i in range(0, len(below), 32)) != tile[32 * at : 32 * at + 32]:
                    faults.append("%s: hash %d does not fit the tile below" % (path(level, index), at))
        level += 1
    if tree(hashes) != root or len(hashes) != size:
        faults.append("the entries do not make up the signed head")
    if kept:
        try:
            old, old_root = head(read(kept) or b"", key)
            if old > size:
                faults.append("%d entries at the end are lost" % (old - size))
            elif tree(hashes[:old]) != old_root:
                faults.append("the first %d entries are others than those of the kept head" % old)
        except (ValueError, IndexError) as fault:
            faults.append("%s: %s" % (kept, fault))
    return faults, size


def prove(line, key, identity, secret):
    proof = json.loads(line)
    size, root = head(proof["head"].encode(), key)
    text = proof["entry"].encode()
    if climb(leaf(text), proof["index"], size, [unbase(hash) for hash in proof["path"]]) != root:
        raise ValueError("the entry is not in the signed tree")
    entry = json.loads(text)
    if "row" in proof:
        row = proof["row"]
        data = bytes.fromhex(row["hex"])
        if row["count"] != entry["rows"] or len(data) != entry["width"]:
            raise ValueError("the row is not of this entry")
        if climb(leaf(data), row["index"], row["count"], [unbase(hash) for hash in row["path"]]) != unbase(entry["root"]):
            raise ValueError("the row is not in the tree of the entry")
        if identity and hmac.new(bytes.fromhex(secret), identity.encode(), "sha256").digest()[:16] != data[:16]:
            raise ValueError("the row is that of another event")
        for route, verdict in zip(entry["routes"], data[16:]):
            was = "was held, " if entry.get("held") else ""
            word = entry["verdicts"].get(str(verdict), verdict)
            print("%s: entry %d: route %s: %s%s" % (entry["at"], proof["index"], route, was, word))
    else:
        print("%s: entry %d: %s" % (entry["at"], proof["index"], proof["entry"]))


def test():
    leaves = [bytes.fromhex(text) for text in ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]]
    hashes = [leaf(data) for data in leaves]
    roots = """6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125
    aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77 d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7
    4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4 76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef
    ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c 5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"""
    assert [tree(hashes[: count + 1]).hex() for count in range(8)] == roots.split()
    # The published audit path of the sixth of eight leaves.
    path = """bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0
    d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"""
    path = [bytes.fromhex(hash) for hash in path.split()]
    assert climb(hashes[5], 5, 8, path) == tree(hashes) and climb(hashes[4], 4, 8, path) != tree(hashes)
    key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert is_signed(key, b"\x72", signature) and not is_signed(key, b"\x73", signature)
    print("the published test vectors hold")


def main(words):
    options, folders = {}, []
    while words:
        word = words.pop(0)
        if word == "--test":
            return test()
        if word.startswith("--"):
            options[word[2:]] = words.pop(0) if words else sys.exit(__doc__)
        else:
            folders.append(word)
    if "key" not in options or len(folders) != ("proof" not in options) or set(options) - {"key", "head", "proof", "id", "hashing"}:
        sys.exit(__doc__)
    if "proof" in options:
        try:
            with open(options["proof"], encoding="utf-8") as file:
                for line in file:
                    prove(line, options["key"], options.get("id"), options.get("hashing"))
        except (ValueError, KeyError, IndexError, TypeError) as fault:
            sys.exit("the proof does not hold: %s" % fault)
        return
    faults, size = verify(folders[0], options["key"], options.get("head"))
    for fault in faults:
        print(fault)
    print("%d entries: %s" % (size, "NOT whole" if faults else "whole"))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
