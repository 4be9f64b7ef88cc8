import type { RunEvent } from "../operations/index.ts";
import { inlineText } from "../operations/values/text.ts";
import { shown } from "../operations/render/columns.ts";
import type { Terminal } from "./terminal.ts";

/** Writes what happens while a graph runs to stderr: a line for each node that begins or ends, and what models say as it comes. */
export class RunLines {
  readonly #terminal: Terminal;
  readonly #before: () => void;
  /** The message that the line under way belongs to. */
  #saying: string | undefined;

  /** @param before called before something is written, to take a line of progress away */
  constructor(terminal: Terminal, before: () => void) {
    this.#terminal = terminal;
    this.#before = before;
  }

  /** Writes an event. */
  take(event: RunEvent): void {
    this.#before();
    const inside =
      "namespace" in event && event.namespace !== "" ? `${event.namespace.replaceAll("|", " ")} ` : "";
    if (event.type === "message") this.#say(event);
    else if (event.type === "node") {
      const took = event.ms === undefined ? "" : ` after ${Math.round(event.ms)} ms`;
      this.#line(`${shown(`${inside}${event.node}`)} ${event.state}${took}`);
    } else if (event.type === "custom") this.#line(`${shown(inside)}tells ${inlineText(event.value)}`);
    else if (event.type === "omitted") this.#line("There is more than is shown.");
  }

  /** Ends the line under way. */
  end(): void {
    if (this.#saying !== undefined) this.#terminal.stderr.write("\n");
    this.#saying = undefined;
  }

  #say({ id, node, role, text = "", calls = [] }: Extract<RunEvent, { type: "message" }>): void {
    const message = id ?? `${node} ${role}`;
    if (this.#saying !== message) {
      this.end();
      this.#terminal.stderr.write(`  ${shown(role)}: `);
      this.#saying = message;
    }
    const said = text.split("\n").map(shown).join("\n    ");
    this.#terminal.stderr.write(`${said}${calls.map((name) => ` calls ${shown(name)}`).join("")}`);
  }

  #line(text: string): void {
    this.end();
    this.#terminal.stderr.write(`${text}\n`);
  }
}
