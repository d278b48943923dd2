// Suggests what may stand at a place of a draft, from the JSON Schema of the router. The draft need not be valid JSON: only what is before the
// cursor is read.

export class Schema {
  constructor(root) {
    this.root = root;
  }

  /// Returns the path of the cursor as words, and the keys or values that may stand there, each with the text to insert and what it replaces.
  hints(text, at) {
    const place = read(text.slice(0, at));
    const schemas = place.path.reduce((list, key) => list.flatMap((schema) => this.step(schema, key)), this.all(this.root));
    const rest = /^[^"\n]*"/.exec(text.slice(at))?.[0] ?? "";
    const to = place.isOpen ? at + rest.length : at;
    const hints = new Map();
    const begins = (word) => word.toLowerCase().startsWith(place.word.toLowerCase());
    if (place.isKey) {
      for (const schema of schemas) {
        for (const [word, value] of Object.entries(schema.properties ?? {})) {
          if (!begins(word) || place.keys.includes(word)) continue;
          const insert = place.isOpen && rest ? JSON.stringify(word) : `${JSON.stringify(word)}: `;
          hints.set(word, { word, about: this.all(value).find((one) => one.description)?.description, insert, from: place.from, to });
        }
      }
    } else {
      for (const schema of schemas) {
        for (const value of [...(schema.enum ?? []), ...("const" in schema ? [schema.const] : []),
          ...(schema.type === "boolean" ? [true, false] : [])]) {
          const insert = JSON.stringify(value);
          if (begins(String(value))) hints.set(insert, { word: String(value), insert, from: place.from, to });
        }
      }
    }
    return { place: place.path.join("."), hints: [...hints.values()] };
  }

  /// Returns the schema and all that it consists of: its references, alternatives and parts.
  all(schema, seen = new Set()) {
    if (!schema || typeof schema !== "object" || seen.has(schema)) return [];
    seen.add(schema);
    const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []), schema.then, schema.else];
    if (schema.$ref) parts.push(this.find(schema.$ref));
    return [schema, ...parts.flatMap((part) => this.all(part, seen))];
  }

  find(reference) {
    return reference.split("/").slice(1).reduce((value, key) => value?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], this.root);
  }

  /// Returns the schemas of a member or of an item.
  step(schema, key) {
    if (typeof key === "number") return this.all(schema.prefixItems?.[key] ?? schema.items);
    const member = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties[key] : null;
    if (member) return this.all(member);
    const patterns = Object.entries(schema.patternProperties ?? {}).filter(([pattern]) => new RegExp(pattern, "u").test(key));
    return patterns.length > 0 ? patterns.flatMap(([, value]) => this.all(value)) : this.all(schema.additionalProperties);
  }
}

/// Reads what is before the cursor. Returns the path of the value that begins there or of the object whose key does, the word so far and where
/// it begins, and the keys that the object has already.
function read(text) {
  const stack = [];
  let word = null;
  let from = text.length;
  let isOpen = false;
  for (let at = 0; at < text.length; at += 1) {
    const top = stack.at(-1);
    const character = text[at];
    if (character === "\"") {
      const start = at;
      at += 1;
      while (at < text.length && text[at] !== "\"") at += text[at] === "\\" ? 2 : 1;
      [word, from, isOpen] = [text.slice(start + 1, Math.min(at, text.length)), start, at >= text.length];
    } else if (character === "{" || character === "[") {
      stack.push({ isObject: character === "{", key: null, keys: [], index: 0 });
      word = null;
    } else if (character === "}" || character === "]") {
      stack.pop();
      word = null;
    } else if (character === ":" && top?.isObject) {
      [top.key, word] = [word, null];
      if (top.key !== null) top.keys.push(top.key);
    } else if (character === "," && top) {
      if (top.isObject) top.key = null;
      else top.index += 1;
      word = null;
    } else if (/\S/.test(character)) {
      const start = at;
      while (at + 1 < text.length && /[\w.+-]/.test(text[at + 1])) at += 1;
      [word, from, isOpen] = [text.slice(start, at + 1), start, false];
    }
  }
  const top = stack.at(-1);
  const isKey = Boolean(top?.isObject && top.key === null);
  const path = stack.map((level) => (level.isObject ? level.key : level.index));
  if (isKey) path.pop();
  if (word === null) from = text.length;
  return { path: path.filter((key) => key !== null), isKey, word: word ?? "", from, isOpen, keys: top?.keys ?? [] };
}
