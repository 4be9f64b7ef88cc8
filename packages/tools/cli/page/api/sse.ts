/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * Parses server-sent events from text that arrives in pieces, as section 9.2.6 of the HTML standard describes. Ids and retry times are
 * dropped, because the inspector doesn't use them.
 */
export class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];

  /** Adds a piece of text. Returns the events that it completes. */
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
