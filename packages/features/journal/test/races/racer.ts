import { join } from "node:path";
import { runChild, type Child } from "../../../../../test/servers/children.ts";
import { suspend } from "../../../../../test/servers/suspend.ts";

/** What a racer is told by its argument. */
export interface Place {
  readonly url: string;
  /** Which machine it says that it is on. Default: this one. */
  readonly machine?: string | undefined;
  /** Default: the journal's own. */
  readonly leaseMs?: number | undefined;
  /** By how much its clock is wrong, in milliseconds. */
  readonly clockMs?: number | undefined;
  /** Whether the acknowledgement of its first claim arrives only when it is told to go on. */
  readonly slowClaim?: boolean | undefined;
}

/** What a racer is asked to do. */
export type Task =
  /** Pays, outside a graph, once per amount, so many at the same time. */
  | {
      readonly do: "pay";
      readonly thread: string;
      readonly amounts: readonly number[];
      readonly atOnce?: number;
      /** Whether the payments wait, when they have begun, until the racer is told to go on. */
      readonly held?: boolean;
      /** What is found out about payments of which nobody knows whether they happened. Default: nothing. */
      readonly reconciled?: { readonly happened: false };
    }
  /** Goes on with a graph that stopped before its tools, until it is done. */
  | { readonly do: "resume"; readonly thread: string; readonly durability: "sync" | "async" };

export type Said =
  | { readonly ready: true }
  /** A claim is stored, and not acknowledged. */
  | { readonly claimed: true }
  /** A payment has begun. */
  | { readonly paying: number }
  | { readonly id: number; readonly answers: readonly string[] }
  | { readonly id: number; readonly code: string; readonly message: string };

export type Told = { readonly id: number; readonly task: Task } | "go on" | "end";

/** A process with a journal, which does what it is told. */
export class Racer {
  readonly child: Child<Said>;
  #tasks = 0;

  private constructor(place: Place) {
    this.child = runChild<Said>(join(import.meta.dirname, "racesChild.ts"), [JSON.stringify(place)]);
  }

  static async start(place: Place): Promise<Racer> {
    const racer = new Racer(place);
    await racer.child.message((said) => "ready" in said);
    return racer;
  }

  /** Resolves to what the task answered, or to the code of its error. */
  async do(task: Task): Promise<readonly string[]> {
    this.#tasks += 1;
    const id = this.#tasks;
    this.child.send({ id, task } satisfies Told);
    const said = await this.child.message((message) => "id" in message && message.id === id);
    return "answers" in said ? said.answers : [(said as { code: string }).code];
  }

  /** Resolves when a payment of this amount has begun. */
  async paying(amount: number): Promise<void> {
    await this.child.message((said) => "paying" in said && said.paying === amount);
  }

  async claimed(): Promise<void> {
    await this.child.message((said) => "claimed" in said);
  }

  /** The payments that began so far. */
  get paid(): number[] {
    return this.child.messages.flatMap((said) => ("paying" in said ? [said.paying] : []));
  }

  goOn(): void {
    this.child.send("go on" satisfies Told);
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (signal === "SIGSTOP") suspend(this.child.pid);
    else process.kill(this.child.pid, signal);
  }

  async end(): Promise<void> {
    this.child.send("end" satisfies Told);
    await this.child.exit;
  }
}
