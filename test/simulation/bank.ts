import * as core from "@stratigraph/core";
import * as internal from "@stratigraph/core/internal";
import * as tier from "@stratigraph/core/tier";
import type { Session } from "../../packages/features/journal/src/calls/session.ts";
import type { Journal } from "../../packages/features/journal/src/journal.ts";
import type { CallOptions } from "../../packages/features/journal/src/options.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

/** The journal's code as a process of its own loads it: what it keeps in memory is nobody else's. */
export interface Program {
  readonly Journal: typeof Journal;
  readonly Session: typeof Session;
}

const doors = {
  "@stratigraph/core": core,
  "@stratigraph/core/internal": internal,
  "@stratigraph/core/tier": tier,
};

/** Loads the journal anew. What it throws stays of the one core that the servers have, too. */
export async function loadProgram(): Promise<Program> {
  vi.resetModules();
  for (const [name, door] of Object.entries(doors)) vi.doMock(name, () => door);
  try {
    const [journal, session, langgraph] = await Promise.all([
      import("../../packages/features/journal/src/journal.ts"),
      import("../../packages/features/journal/src/calls/session.ts"),
      import("../../packages/features/journal/src/langgraph/langgraph.ts"),
    ]);
    // Loaded later, it would take real time.
    await langgraph.loadInterrupts();
    return { Journal: journal.Journal, Session: session.Session };
  } finally {
    for (const name of Object.keys(doors)) vi.doUnmock(name);
    // Whoever imports the journal from now on, in another file of this worker, gets it with a core of the same copy.
    vi.resetModules();
  }
}

/** A process that pays once per payment, as far as its journal can. */
export interface Payer {
  readonly process: Machine;
  readonly journal: Journal;
  /** Asks the bank, whatever the journal says. */
  ask(payment: string): Promise<string>;
  /** @param reconcile looks whether a payment happened of which nobody knows */
  pay(payment?: string, reconcile?: CallOptions["reconcile"]): Promise<string>;
}

/** A storage, and a bank that pays as often as it is asked to. */
export class Bank {
  /** What was paid, and by whom. */
  readonly paid: { readonly by: string; readonly payment: string }[] = [];
  readonly tier: core.MemoryTier;
  readonly #server: Machine;
  readonly #bank: Machine;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    [this.#server, this.#bank] = [world.machine("server"), world.machine("bank")];
    this.tier = this.#server.run(() => new core.MemoryTier());
  }

  /** A saver of a process. */
  saver(process: Machine): core.TierSaver {
    return process.run(() => new core.TierSaver(this.#world.connect(process, this.#server, this.tier)));
  }

  /** A new process on a machine of its own. */
  payer(name: string, { Journal, Session }: Program): Payer & { readonly saver: core.TierSaver } {
    const process = this.#world.machine(name);
    const saver = this.saver(process);
    const session = process.run(() => new Session(saver.tier, { machine: name }));
    const journal = process.run(() => new Journal(saver, {}, session));
    const desk = {
      pay: async (payment: string): Promise<string> => {
        this.paid.push({ by: name, payment });
        return "receipt";
      },
    };
    const { pay: ask } = this.#world.connect(process, this.#bank, desk as never) as typeof desk;
    const pay = (payment = "rent", reconcile?: CallOptions["reconcile"]): Promise<string> => {
      const call = { id: `pay ${payment}`, tool: "pay", args: { payment }, reconcile };
      return process.run(() => journal.run(thread, call, async () => await ask(payment)));
    };
    return { process, saver, journal, ask, pay };
  }
}

/** The thread in whose journal the payments are. */
const thread = { configurable: { thread_id: "t" } };
