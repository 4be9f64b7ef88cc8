/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * Takes server-sent events out of text that comes in pieces, as the HTML standard's section 9.2.6 describes. Ids and retry times aren't kept:
 * the inspector doesn't use them.
 */
export class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];

  /** The events that are complete with this piece. */
  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop()!;
    for (const line of lines) {
      const event = this.#line(line);
      if (event !== undefined) found.push(event);
    }
    return found;
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") {
      const event =
        this.#data.length === 0
          ? undefined
          : { event: this.#event || "message", data: this.#data.join("\n") };
      this.#event = "";
      this.#data = [];
      return event;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "event") this.#event = value;
    if (field === "data") this.#data.push(value);
    return undefined;
  }
}
