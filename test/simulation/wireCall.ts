import { StratigraphError } from "@stratigraph/core";
import type { Machine } from "./machine.ts";

/** How long drivers wait for an answer, in milliseconds. */
const driverTimeoutMs = 30_000;

/** Where a call is: on its way to the server, executed there, or ended for its caller. */
export type WireState = "sent" | "executing" | "executed" | "ended";

/** One call of a process to a server. What becomes of it, and when, the world decides. */
export class WireCall {
  readonly from: Machine;
  readonly to: Machine;
  readonly method: string;
  readonly args: readonly unknown[];
  /** Resolves or rejects when the answer reaches the caller. */
  readonly answer: Promise<unknown>;
  /** Whether a test decides what becomes of it. */
  held = false;
  state: WireState = "sent";
  #outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
  readonly #execute: () => Promise<unknown>;
  readonly #told: (what: string) => void;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;

  constructor(
    { from, to, method, args }: Pick<WireCall, "from" | "to" | "method" | "args">,
    execute: () => Promise<unknown>,
    told: (what: string) => void,
  ) {
    this.from = from;
    this.to = to;
    this.method = method;
    this.args = args;
    this.#execute = execute;
    this.#told = told;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A caller that was killed, or that gave up waiting, handles no answer.
    this.answer.catch(() => undefined);
  }

  /** The server does it. Nobody knows yet. */
  async arrive(): Promise<void> {
    this.state = "executing";
    this.#told(`${this} is done`);
    try {
      this.#outcome = { value: await this.to.run(this.#execute) };
    } catch (error) {
      this.#outcome = { error };
    }
    // A caller may have been answered otherwise meanwhile.
    if ((this.state as WireState) === "executing") this.state = "executed";
  }

  /** The server's answer reaches the caller. */
  deliver(): void {
    this.#told(`${this} is answered`);
    this.state = "ended";
    const outcome = this.#outcome!;
    if ("error" in outcome) this.#reject(outcome.error);
    else this.#resolve(outcome.value);
  }

  /** The caller gets an error. Whether the server did it is told by `state` before. */
  fail(error: unknown = outage(this)): void {
    this.#told(`${this} ${this.#outcome === undefined ? "is refused" : "loses its answer"}`);
    this.state = "ended";
    this.#reject(error);
  }

  /** The caller hears nothing, until its driver gives up. */
  silence(): void {
    this.#told(`${this} meets silence`);
    this.held = true;
    this.from.run(() => setTimeout(() => this.fail(), driverTimeoutMs));
  }

  toString(): string {
    return `${this.from.name}: ${this.to.name}.${this.method}(${shortly(this.args)})`;
  }
}

function outage({ to }: WireCall): StratigraphError {
  return new StratigraphError("UNAVAILABLE", `The simulation lost the connection to ${to.name}.`, {
    tier: to.name,
  });
}

/** The ids among arguments, as a story needs them. */
function shortly(args: readonly unknown[]): string {
  return args
    .flatMap((arg) => {
      if (typeof arg === "string" || typeof arg === "number") return [String(arg)];
      if (typeof arg !== "object" || arg === null) return [];
      const { threadId, namespace, checkpointId, revision } = arg as Record<string, unknown>;
      return [threadId, namespace === "" ? undefined : namespace, checkpointId, revision]
        .filter((part) => part !== undefined)
        .map(String);
    })
    .join(" ");
}
