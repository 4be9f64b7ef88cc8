import type { RunEvent } from "../operations/index.ts";
import { inlineText } from "../operations/values/text.ts";
import { shown } from "../operations/render/columns.ts";
import type { Terminal } from "./terminal.ts";

/** Writes the events of a running graph to stderr: a line for each node that begins or ends, and the text of models as it arrives. */
export class RunLines {
  readonly #terminal: Terminal;
  readonly #before: () => void;
  /** The message whose text is on the current line. */
  #saying: string | undefined;

  /** @param before called before something is written, to remove a line of progress */
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

  /** Ends the current line. */
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
