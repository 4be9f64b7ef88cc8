import { StratigraphError } from "@stratigraph/core";
import type { Bytes } from "../checkpointKeys.ts";
import type { Connection } from "../connection.ts";
import type { KeyNames } from "../keyNames.ts";
import { withLarge, type NamedBlobs } from "../largeBlobs.ts";
import type { ScriptName } from "../scripts.ts";
import type { ByteRange } from "./itemAddress.ts";

/** How often a script is run until it sends all bodies itself. */
const attempts = 3;

/** Fetched bodies by version, where a script only named them. */
export type Bodies = ReadonlyMap<string, Buffer>;

interface SpacePage {
  readonly entries: Buffer[];
  readonly versions: Buffer[];
  readonly newest: number;
  /** Up to which version entries of the log may have been removed. */
  readonly trimmed: number;
}

/** The store, or a workspace, of one prefix: keys in one slot, which lua/space.lua lists. */
export class Space {
  readonly #connection: Connection;
  readonly #keys: readonly string[];
  readonly #id: string;

  /** @param workspace its name; absent: the store, which has all items outside of workspaces */
  constructor(connection: Connection, keys: KeyNames, workspace: string | undefined) {
    this.#connection = connection;
    this.#keys = keys.space(workspace);
    this.#id = workspace ?? "";
  }

  /** Runs a script. */
  async run(name: ScriptName, args: readonly (Bytes | number)[]): Promise<unknown> {
    return await this.#connection.run(name, this.#keys, [this.#id, ...args]);
  }

  /**
   * Runs a script that only names large bodies, and fetches these. Bodies never change. If some are gone by then, because their items
   * were changed, the script is run again, and at last sends them itself.
   */
  async read<Reply>(
    name: ScriptName,
    args: readonly (Bytes | number)[],
    named: (reply: Reply) => NamedBlobs,
  ): Promise<{ readonly reply: Reply; readonly bodies: Bodies }> {
    let attempt = 0;
    const run = async (): Promise<Reply> => {
      attempt += 1;
      return (await this.run(name, [attempt < attempts ? 0 : 1, ...args])) as Reply;
    };
    const { reply, large } = await withLarge(this.#connection, this.#keys[0]!, run, named);
    return { reply, bodies: large };
  }

  /** The largest version that an item has before another; 0 if none has. */
  async newestBefore(version: number): Promise<number> {
    const args = [this.#keys[2]!, `(${version}`, "-inf", "WITHSCORES", "LIMIT", 0, 1] as const;
    const found = (await this.#connection.command("ZREVRANGEBYSCORE", ...args)) as (Buffer | Buffer[])[];
    // One list, or with RESP3 a list of pairs.
    const [, newest] = found.flat();
    return Number(newest ?? 0);
  }

  /** Fields of the hash, of so many bytes together. */
  async fields(names: readonly string[], bytes: number): Promise<(Buffer | null)[]> {
    return await this.#connection.fields(this.#keys[0]!, names, bytes);
  }

  /** Pages of all that is in a range: addresses with their versions, or entries of the log. */
  async *entries([first, to]: ByteRange, isLog: boolean): AsyncGenerator<SpacePage> {
    let from = Buffer.concat([Buffer.from("["), first]);
    for (;;) {
      const args = [isLog ? 1 : 0, from, Buffer.concat([Buffer.from("("), to])];
      const reply = (await this.run("spacePage", args)) as [Buffer[], Buffer[], Buffer, Buffer];
      const [entries, versions, newest, trimmed] = reply;
      yield { entries, versions, newest: Number(newest), trimmed: Number(trimmed) };
      if (entries.length < 1000) return;
      from = Buffer.concat([Buffer.from("("), entries.at(-1)!]);
    }
  }
}

/** The error where what is read was changed again and again meanwhile. */
export function overloaded(what: string): StratigraphError {
  return new StratigraphError(
    "OVERLOADED",
    `${what} could not be read: it was changed during each of several attempts. Try again.`,
    { tier: "redis" },
  );
}
