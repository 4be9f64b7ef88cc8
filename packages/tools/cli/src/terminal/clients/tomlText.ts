/** A line of a TOML text that says something: the head of a table, or a key with its value. */
export interface TomlStatement {
  readonly kind: "table" | "pair";
  /** The whole path: of a pair with that of its table. */
  readonly path: readonly string[];
  /** Where its line begins, and where it ends, with a comment, without the line end. */
  readonly start: number;
  readonly end: number;
  /** Where the value of a pair is. */
  readonly value?: { readonly start: number; readonly end: number };
}

/** The statements of a text that a TOML parser takes: where these are is all that is asked here. */
export function readToml(text: string): TomlStatement[] {
  return new Reader(text).statements();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\ufeff")) this.#at = 1;
  }

  statements(): TomlStatement[] {
    const found: TomlStatement[] = [];
    let table: readonly string[] = [];
    for (;;) {
      this.#take(/(?:[ \t\r\n]|#[^\n]*)*/y);
      if (this.#at >= this.#text.length) return found;
      const start = this.#text.lastIndexOf("\n", this.#at) + 1 || (this.#text.startsWith("\ufeff") ? 1 : 0);
      if (this.#take(/\[{1,2}/y) === "") {
        const path = [...table, ...this.#path()];
        this.#take(/[ \t]*=[ \t]*/y);
        const from = this.#at;
        this.#value();
        const value = { start: from, end: this.#at };
        this.#take(/[^\n]*/y);
        found.push({ kind: "pair", path, start, end: this.#lineEnd(), value });
      } else {
        table = this.#path();
        this.#take(/[^\n]*/y);
        found.push({ kind: "table", path: table, start, end: this.#lineEnd() });
      }
    }
  }

  #path(): string[] {
    const path: string[] = [];
    do {
      this.#take(/[ \t]*/y);
      const quoted = this.#take(/"(?:[^"\\\n]|\\.)*"/y);
      const literal = quoted === "" ? this.#take(/'[^'\n]*'/y) : "";
      if (quoted !== "") path.push(plain(quoted));
      else if (literal !== "") path.push(literal.slice(1, -1));
      else path.push(this.#take(/[\w-]*/y));
    } while (this.#take(/[ \t]*\./y) !== "");
    return path;
  }

  /** Goes to the end of a value. */
  #value(): void {
    const part =
      /"""(?:[^"\\]|\\[^]|"{1,2}(?!"))*"{3,5}|'''(?:[^']|'{1,2}(?!'))*'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[[{]|[\]}]|#[^\n]*|[ \t\r\n,=]+|[^[\]{}"'#\s,=]+/y;
    for (let depth = 0; this.#at < this.#text.length;) {
      const before = this.#at;
      const found = this.#take(part);
      if (/^[[{]/.test(found)) depth += 1;
      else if (/^[\]}]/.test(found)) depth -= 1;
      if (found === "" || (depth === 0 && !/^[\s,=]/.test(found))) {
        if (found.startsWith("#")) this.#at = before;
        // A date may have a blank between its day and its hour.
        const isDate = /^\d{4}-\d\d-\d\d$/.test(found);
        if (isDate) this.#take(/ \d\d:[\d:.Z+-]*/y);
        return;
      }
    }
  }

  #lineEnd(): number {
    return this.#text[this.#at - 1] === "\r" ? this.#at - 1 : this.#at;
  }

  #take(what: RegExp): string {
    what.lastIndex = this.#at;
    const [found = ""] = what.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }
}

/** The text of a key in double quotes. */
function plain(quoted: string): string {
  const inner = quoted
    .slice(1, -1)
    .replaceAll(/\\U([\da-f]{8})/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
  try {
    return JSON.parse(`"${inner.replaceAll("\t", "\\t")}"`) as string;
  } catch {
    return inner;
  }
}
