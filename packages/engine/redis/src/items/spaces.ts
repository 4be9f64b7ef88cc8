import { StratigraphError } from "@stratigraph/core";
import { remembering } from "@stratigraph/core/internal";
import type { Connection } from "../connection.ts";
import type { KeyNames } from "../keyNames.ts";
import { Space } from "./space.ts";

/** How many names of workspaces an instance remembers as indexed. Forgetting one costs a repeated command. */
const rememberedNames = 4096;

/** How many workspaces a page has. */
const pageSize = 200;

/**
 * Which workspaces there are: an index in another slot than theirs, so no script can write it together with them. It may name workspaces
 * that are gone, so readers look at the workspace itself.
 */
export class Spaces {
  readonly #connection: Connection;
  readonly #keys: KeyNames;
  readonly #indexed = remembering<true>(rememberedNames);
  /** Where the next sweep continues. */
  #sweptUpTo = "";

  constructor(connection: Connection, keys: KeyNames) {
    this.#connection = connection;
    this.#keys = keys;
  }

  /** The store, or a workspace. */
  of(workspace: string | undefined): Space {
    return new Space(this.#connection, this.#keys, workspace);
  }

  /** Indexes a workspace before it is written to. An extra name does no harm; a missing one would hide the workspace. */
  async begins(workspace: string): Promise<void> {
    if (this.#indexed.get(workspace) === true) return;
    await this.#add(workspace);
    this.#indexed.set(workspace, true);
  }

  /** Indexes a workspace that began with a write, because a deletion may have removed its name just before. */
  async began(workspace: string): Promise<void> {
    await this.#add(workspace);
  }

  /** Removes the name of a workspace that was deleted, unless it began again meanwhile. */
  async deleted(workspace: string): Promise<void> {
    await this.#connection.command("ZREM", this.#keys.workspaces, workspace);
    if (await this.#isThere(workspace)) await this.#add(workspace);
  }

  /** Names of workspaces after one, in the order of their UTF-8. */
  async page(after: string | undefined, limit: number): Promise<string[]> {
    const found: string[] = [];
    let from = after === undefined || after === "" ? "-" : `(${after}`;
    while (found.length < limit) {
      const many = Math.min(pageSize, limit - found.length);
      const args = [this.#keys.workspaces, from, "+", "LIMIT", 0, many] as const;
      const names = ((await this.#connection.command("ZRANGEBYLEX", ...args)) as Buffer[]).map(String);
      const there = await Promise.all(names.map((name) => this.#isThere(name)));
      for (const [n, name] of names.entries()) if (there[n] === true) found.push(name);
      if (names.length < many) break;
      from = `(${names.at(-1)}`;
    }
    return found;
  }

  async all(): Promise<string[]> {
    return await this.page(undefined, Infinity);
  }

  /**
   * Removes expired items: at most 500 of the store, and of each of the next 200 workspaces.
   * @throws after that, the first error of one that is damaged
   */
  async sweep(): Promise<number> {
    const names = await this.page(this.#sweptUpTo, pageSize);
    this.#sweptUpTo = names.length < pageSize ? "" : names.at(-1)!;
    let swept = 0;
    let damaged: unknown;
    for (const workspace of [undefined, ...names])
      try {
        swept += Number(await this.of(workspace).run("sweepItems", []));
      } catch (error) {
        if (!StratigraphError.is(error, "CORRUPT")) throw error;
        damaged ??= error;
      }
    if (damaged !== undefined) throw damaged;
    return swept;
  }

  async #add(workspace: string): Promise<void> {
    await this.#connection.command("ZADD", this.#keys.workspaces, 0, workspace);
  }

  async #isThere(workspace: string): Promise<boolean> {
    return (await this.#connection.command("EXISTS", ...this.#keys.space(workspace))) !== 0;
  }
}
