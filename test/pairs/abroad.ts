import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { importThreads, moveThreads, saverSource } from "@stratigraph/migrate";
import { conversationOn, tokenOf, valueOf } from "./conversation.ts";
import { Broken } from "./oracle.ts";
import { Player, type Table } from "./player.ts";
import { storages } from "./storages.ts";

/** What the oracle calls the turns that were made with LangGraph's own saver. */
export const abroad = "abroad";

/** A thread in LangGraph's own saver, which goes on while it is imported under the same id. */
export class Abroad {
  readonly #saver = new MemorySaver();
  readonly #table: Table;
  readonly #thread: string;
  #last: Promise<void> = Promise.resolve();

  constructor(table: Table, thread: string) {
    this.#table = table;
    this.#thread = thread;
    table.oracle.copied(abroad, thread);
  }

  /** A turn, after those under way: the official saver mixes up runs that race. */
  async turn(): Promise<void> {
    this.#last = this.#last.then(() => this.#turn());
    await this.#last;
  }

  async #turn(): Promise<void> {
    const { oracle, channel, durability, world } = this.#table;
    const name = oracle.say(abroad, this);
    const config = { configurable: { thread_id: this.#thread }, durability };
    const graph = conversationOn(this.#saver, channel);
    const { line } = await graph.invoke({ line: [valueOf(`${name}.in`)] }, config);
    world.tell(`abroad: turn ${name}: done`);
    oracle.acknowledge(name, line.map(tokenOf));
  }

  async import(player: Player): Promise<void> {
    await player.tries("imports", () => this.#import(player));
  }

  /** The import that ends it all, while nobody writes to the source: nothing differs any more. */
  async settle(): Promise<void> {
    const importer = new Player(this.#table, "importer");
    const { differences, diverged } = await importer.process.run(() => this.#import(importer));
    if (differences.length > 0)
      throw new Broken(`What was imported differs: ${differences.map(({ what }) => what).join("; ")}`);
    if (diverged.length === 0)
      this.#table.oracle.checkCopy(this.#thread, Infinity, await importer.reading(this.#thread));
  }

  async #import(player: Player) {
    return await importThreads(saverSource(this.#saver), player.saver, { threadIds: [this.#thread] });
  }
}

/** Another storage, to which a thread is moved, and from which it comes back. */
export class Elsewhere {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = { ...table, storage: storages.memory(table.world) };
  }

  async move(player: Player, thread: string): Promise<true | undefined> {
    const there = new Player(this.#table, `${player.process.name}'s mover`);
    const options = { source: "delete", threadIds: [thread] } as const;
    return await player.does("moves", () => moveThreads(player.saver, there.saver, options));
  }

  /**
   * Everything that is there comes home, unless it began anew there meanwhile: then both go on apart, and that is told.
   * @returns whoever reads it there, where it stayed
   */
  async return(thread: string, home: Table): Promise<Player | undefined> {
    const [from, to] = [new Player(this.#table, "mover there"), new Player(home, "mover")];
    const options = { source: "delete", threadIds: [thread] } as const;
    const { differences, diverged } = await to.process.run(() => moveThreads(from.saver, to.saver, options));
    // A thread that was deleted before it was moved isn't there.
    const others = differences.filter(({ what }) => what !== "the source has no such thread");
    if (others.length > 0)
      throw new Broken(`It can't come home: ${others.map(({ what }) => what).join("; ")}`);
    return diverged.length > 0 ? from : undefined;
  }
}
