/** An object of a JSON text, and where it is. */
export interface JsonObject {
  readonly kind: "object";
  readonly start: number;
  readonly end: number;
  readonly members: readonly JsonMember[];
  /** Where the last token or comment before the closing brace ends. */
  readonly solid: number;
}

/** Another value of a JSON text. */
export interface JsonOther {
  readonly kind: "other";
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
}

export type JsonNode = JsonObject | JsonOther;

/** A member of an object. */
export interface JsonMember {
  readonly key: string;
  /** Where the token or comment before it ends. */
  readonly lead: number;
  readonly start: number;
  readonly value: JsonNode;
  /** Where the comma behind it is. */
  comma?: number;
}

/** How deep values may be in each other. */
const maxDepth = 500;

/**
 * Reads JSON with what editors allow in it: comments, commas behind the last member, a byte order mark.
 * @throws SyntaxError with line and column
 */
export function readJson(text: string): JsonNode {
  return new Reader(text).document();
}

/** The value of a node. Of several members with a key, the last counts, as for JSON.parse. */
export function valueOf(node: JsonNode): unknown {
  if (node.kind === "other") return node.value;
  return Object.fromEntries(node.members.map(({ key, value }) => [key, valueOf(value)]));
}

/** The member with a key that counts. */
export function memberOf(object: JsonObject, key: string): JsonMember | undefined {
  return object.members.findLast((member) => member.key === key);
}

class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\ufeff")) this.#at = 1;
  }

  document(): JsonNode {
    this.#skip();
    const node = this.#node();
    this.#skip();
    if (this.#at < this.#text.length) this.#fail("there is something behind the end");
    return node;
  }

  #node(): JsonNode {
    this.#depth += 1;
    if (this.#depth > maxDepth) this.#fail("it is nested too deeply");
    const start = this.#at;
    const first = this.#text[start];
    const node: JsonNode =
      first === "{"
        ? this.#object()
        : { kind: "other", start, value: first === "[" ? this.#array() : this.#scalar(), end: this.#at };
    this.#depth -= 1;
    return node;
  }

  #object(): JsonObject {
    const start = this.#at;
    const members: JsonMember[] = [];
    this.#at += 1;
    let solid = this.#skip();
    while (this.#text[this.#at] !== "}") {
      const [lead, keyAt] = [solid, this.#at];
      if (this.#text[keyAt] !== '"') this.#fail("a name in quotes is missing");
      const key = this.#scalar() as string;
      this.#skip();
      if (this.#text[this.#at] !== ":") this.#fail("a colon is missing");
      this.#at += 1;
      this.#skip();
      const member: JsonMember = { key, lead, start: keyAt, value: this.#node() };
      members.push(member);
      solid = this.#skip();
      if (this.#text[this.#at] === ",") {
        member.comma = this.#at;
        this.#at += 1;
        solid = this.#skip();
      } else if (this.#text[this.#at] !== "}") this.#fail("a comma or a closing brace is missing");
    }
    this.#at += 1;
    return { kind: "object", start, end: this.#at, members, solid };
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    this.#skip();
    while (this.#text[this.#at] !== "]") {
      items.push(valueOf(this.#node()));
      this.#skip();
      if (this.#text[this.#at] === ",") {
        this.#at += 1;
        this.#skip();
      } else if (this.#text[this.#at] !== "]") this.#fail("a comma or a closing bracket is missing");
    }
    this.#at += 1;
    return items;
  }

  #scalar(): unknown {
    const token = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|-?\d[\d.eE+-]*|true|false|null/y;
    token.lastIndex = this.#at;
    const [found] = token.exec(this.#text) ?? [];
    if (found === undefined) return this.#fail("a value is missing");
    let value: unknown;
    try {
      value = JSON.parse(found);
    } catch {
      this.#fail("a value isn't valid");
    }
    this.#at += found.length;
    return value;
  }

  /** Skips whitespace and comments. Returns where the last comment ends, or the place before. */
  #skip(): number {
    let solid = this.#at;
    for (;;) {
      const space = /[ \t\r\n]*/y;
      space.lastIndex = this.#at;
      this.#at += space.exec(this.#text)![0].length;
      if (this.#text.startsWith("//", this.#at)) {
        const line = /[^\r\n]*/y;
        line.lastIndex = this.#at;
        this.#at += line.exec(this.#text)![0].length;
      } else if (this.#text.startsWith("/*", this.#at)) {
        const end = this.#text.indexOf("*/", this.#at + 2);
        if (end < 0) this.#fail("a comment doesn't end");
        this.#at = end + 2;
      } else return solid;
      solid = this.#at;
    }
  }

  #fail(what: string): never {
    const before = this.#text.slice(0, this.#at).split("\n");
    throw new SyntaxError(`line ${before.length}, column ${before.at(-1)!.length + 1}: ${what}`);
  }
}
