import { AsyncLocalStorage } from "node:async_hooks";
import type { RunnableConfig } from "@langchain/core/runnables";
import { StratigraphError, type EncryptionOptions, type TierSaver } from "@stratigraph/core";
import type { Machine } from "../simulation/machine.ts";
import type { World } from "../simulation/world.ts";
import { conversationOn, tokenOf, valueOf, type Channel, type Durability } from "./conversation.ts";
import { Broken, type Oracle, type Reading, type State } from "./oracle.ts";
import type { Storage } from "./storages.ts";

/** What a user is told to expect of a healthy program: a lost race, a deletion, what isn't there, a storage that is away. */
const expected: ReadonlySet<string> = new Set([
  "CHECKPOINT_CONFLICT",
  "THREAD_DELETED",
  "THREAD_EXISTS",
  "STALE_READ",
  "NOT_FOUND",
  "UNAVAILABLE",
  "ARCHIVE_UNAVAILABLE",
  "OVERLOADED",
]);

export function isExpected(error: unknown): boolean {
  return StratigraphError.is(error) && expected.has(error.code);
}

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

/** Encryption with two keys, of which one is active. */
function encryptedBy(activeKey: string): EncryptionOptions {
  return { keys: { "1": key(1), "2": key(2) }, activeKey, hashKey: key(3) };
}

/** What all players of one play share. */
export interface Table {
  readonly world: World;
  readonly oracle: Oracle;
  readonly storage: Storage;
  readonly channel: Channel;
  readonly durability: Durability;
  /** Whether what is stored is encrypted. */
  readonly encrypted: boolean;
}

/** A process with a saver and a graph of its own. */
export class Player {
  readonly process: Machine;
  readonly saver: TierSaver;
  readonly table: Table;
  /** The turn that a call is made for. A stopped one may still store when the next one has begun. */
  readonly #says = new AsyncLocalStorage<string>();

  /** @param activeKey that new bytes are sealed with */
  constructor(table: Table, name: string, activeKey: "1" | "2" = "1") {
    this.table = table;
    this.process = table.world.machine(name);
    const encryption = table.encrypted ? { encryption: encryptedBy(activeKey) } : {};
    // Under "async" the run goes on beside the head, and its saver is told.
    const onConflict = (): void => this.#lost();
    this.saver = table.storage.open(this.process, { onConflict, ...encryption });
  }

  /** The turn that it is at has lost a race. */
  #lost(): void {
    const name = this.#says.getStore();
    if (name !== undefined) this.table.oracle.besides(name);
  }

  /** Does something, in this process. @returns what came of it; undefined where it failed in a way that users are told to expect, or the process died */
  async tries<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    const { world } = this.table;
    let outcome: T | undefined;
    let failure: unknown;
    world.tell(`${this.process.name}: ${what} …`);
    await this.process.finish(async () => {
      try {
        outcome = await work();
        world.tell(`${this.process.name}: … ${what}: done`);
      } catch (error) {
        world.tell(`${this.process.name}: … ${what}: ${String(error).slice(0, 200)}`);
        if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) this.#lost();
        if (error instanceof Broken || !isExpected(error)) failure = error;
      }
    });
    if (failure !== undefined) throw failure;
    return outcome;
  }

  /** Says something, and waits for the answers. @returns whether it was acknowledged */
  async turn(thread: string, again?: string): Promise<boolean> {
    const { oracle, channel, durability } = this.table;
    const name = oracle.say(thread, this, again);
    const done = await this.#says.run(name, () =>
      this.tries(`turn ${name}`, async () => {
        const config = { configurable: { thread_id: thread }, durability };
        const graph = conversationOn(this.saver, channel);
        const { line } = await graph.invoke({ line: [valueOf(`${name}.in`)] }, config);
        if (this.process.alive) oracle.acknowledge(name, line.map(tokenOf));
        return true;
      }),
    );
    return done === true;
  }

  /** Says something, and stops the run when a node has answered, which is being stored then. */
  async stoppedTurn(thread: string): Promise<void> {
    const { oracle, channel, durability } = this.table;
    const name = oracle.say(thread, this);
    await this.#says.run(name, () =>
      this.tries(`stopped turn ${name}`, async () => {
        const stop = new AbortController();
        const config = { configurable: { thread_id: thread }, durability, signal: stop.signal };
        const input = { line: [valueOf(`${name}.in`)] };
        try {
          const graph = conversationOn(this.saver, channel);
          for await (const _ of await graph.stream(input, { ...config, streamMode: "updates" })) stop.abort();
        } catch (error) {
          if (!stop.signal.aborted || error instanceof Broken) throw error;
        }
      }),
    );
  }

  /** As {@link tries}, for what tells nothing. @returns true where it was acknowledged */
  async does(what: string, work: () => Promise<unknown>): Promise<true | undefined> {
    return await this.tries(what, async () => {
      await work();
      return true as const;
    });
  }

  /** What this process reads as the thread's state. @throws what reading throws */
  async head(thread: string): Promise<string[]> {
    const graph = conversationOn(this.saver, this.table.channel);
    const { values } = await this.process.run(() => graph.getState({ configurable: { thread_id: thread } }));
    return tokensIn(values);
  }

  /** What this process reads of a thread. @throws what reading throws */
  async reading(thread: string): Promise<Reading> {
    const { saver, table } = this;
    const config = { configurable: { thread_id: thread, checkpoint_ns: "" } };
    return await this.process.run(async () => {
      const head = await this.head(thread);
      const history: State[] = [];
      if (table.channel === "plain")
        for await (const { checkpoint, parentConfig } of saver.list(config))
          history.push(stateOf(checkpoint.id, parentConfig, checkpoint.channel_values));
      else
        for await (const state of conversationOn(saver, "delta").getStateHistory(config))
          history.push(
            stateOf(String(state.config.configurable?.["checkpoint_id"]), state.parentConfig, state.values),
          );
      return { head, history };
    });
  }
}

function stateOf(id: string, parentConfig: RunnableConfig | undefined, values: unknown): State {
  const parent = parentConfig?.configurable?.["checkpoint_id"] as string | undefined;
  return { id, parent, tokens: tokensIn(values) };
}

function tokensIn(values: unknown): string[] {
  return ((values as { line?: string[] } | undefined)?.line ?? []).map(tokenOf);
}
