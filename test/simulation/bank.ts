import * as core from "@stratigraph/core";
import type { Session } from "../../packages/journal/src/calls/session.ts";
import type { Journal } from "../../packages/journal/src/journal.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

/** The journal's code as a process of its own loads it: what it keeps in memory is nobody else's. */
export interface Program {
  readonly Journal: typeof Journal;
  readonly Session: typeof Session;
}

/** Loads the journal anew. What it throws stays of the one core that the servers have, too. */
export async function loadProgram(): Promise<Program> {
  vi.resetModules();
  vi.doMock("@stratigraph/core", () => core);
  try {
    const [journal, session, langgraph] = await Promise.all([
      import("../../packages/journal/src/journal.ts"),
      import("../../packages/journal/src/calls/session.ts"),
      import("../../packages/journal/src/langgraph/langgraph.ts"),
    ]);
    // Loaded later, it would take real time.
    await langgraph.loadInterrupt();
    return { Journal: journal.Journal, Session: session.Session };
  } finally {
    vi.doUnmock("@stratigraph/core");
  }
}

/** A storage, and a bank that pays as often as it is asked to. */
export class Bank {
  /** Who asked for each payment, by its idempotency key. */
  readonly paid: { readonly by: string; readonly key: string }[] = [];
  readonly server: Machine;
  readonly bank: Machine;
  readonly tier: core.MemoryTier;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    [this.server, this.bank] = [world.machine("server"), world.machine("bank")];
    this.tier = this.server.run(() => new core.MemoryTier());
  }

  /** A saver of a process. */
  saver(process: Machine): core.TierSaver {
    return process.run(() => new core.TierSaver(this.#world.connect(process, this.server, this.tier)));
  }

  /** A journal of a process on a machine of its own, and how the process pays. */
  open(
    process: Machine,
    { Journal, Session }: Program,
    saver = this.saver(process),
  ): { journal: Journal; pay: (key: string) => Promise<string> } {
    const journal = process.run(
      () => new Journal(saver, {}, new Session(saver.tier, { machine: process.name })),
    );
    const pay = async (key: string): Promise<string> => {
      this.paid.push({ by: process.name, key });
      return "receipt";
    };
    return { journal, pay: this.#world.connect(process, this.bank, { pay } as never)["pay"] as never };
  }
}
