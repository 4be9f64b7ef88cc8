import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, kindOf } from "@stratigraph/core/internal";
import type { Workspace } from "../workspace.ts";
import { MemorySync } from "./memorySync.ts";
import { RemoteMemory, type MemoryClient, type Value } from "./remoteMemory.ts";
import type { MemoryConflict, SyncedMemory } from "./syncedMemory.ts";

/** A workspace that `createWorkspace` opened. */
export interface CacheWorkspace {
  readonly name: string;
  /** @internal */
  partsFor(work: string): unknown;
}

/** Options of {@link syncMemory}. */
export interface SyncMemoryOptions {
  /**
   * Decides about items that were changed on both sides: "ours" is the cache's, "theirs" the server's. A function gives the value, null for
   * none, or undefined to leave it a conflict. Default: they stay conflicts, and are as they are on both sides.
   */
  readonly resolve?: "ours" | "theirs" | ((conflict: MemoryConflict) => Value | undefined) | undefined;
  /** Ends the sync when it is aborted. The next one goes on. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Brings a workspace of this process and a shared memory of an MCP server in step, both ways. The workspace is a cache that is read and written
 * as any other, while the server is away too. A change that was made on one side only is made on the other; one of the cache only if the
 * server's item still is what it was based on. Killed at any moment, it loses nothing and makes nothing twice: the next sync goes on.
 *
 * @param cache a workspace of its own, for one server
 * @param client is connected to the server, whose tools are those of `stratigraph mcp --workspace`
 * @example
 * const { conflicts } = await syncMemory(cache, client);
 * @throws StratigraphError "UNAVAILABLE" if the server doesn't answer; "ACCESS_DENIED" if the cache is a role's part of a workspace
 */
export async function syncMemory(
  cache: CacheWorkspace,
  client: MemoryClient,
  options: SyncMemoryOptions = {},
): Promise<SyncedMemory> {
  checkOptions<SyncMemoryOptions>("syncMemory", options, { resolve: true, signal: true });
  const { resolve, signal } = options;
  if (typeof (Object(client) as Partial<MemoryClient>).callTool !== "function")
    throw new InvalidOptionError("client", kindOf(client), "Pass a connected client of the MCP SDK.");
  if (resolve !== undefined && resolve !== "ours" && resolve !== "theirs" && typeof resolve !== "function")
    throw new InvalidOptionError("resolve", resolve, 'Pass "ours", "theirs" or a function.');
  if (typeof (Object(cache) as Partial<CacheWorkspace>).partsFor !== "function")
    throw new InvalidOptionError("cache", kindOf(cache), "Pass what createWorkspace() returns.");
  const { parts, agent } = cache.partsFor("syncMemory()") as ReturnType<Workspace["partsFor"]>;
  const decide = (conflict: MemoryConflict): Value | undefined => {
    if (resolve === "ours" || resolve === "theirs") return conflict[resolve];
    const value: unknown = resolve?.(conflict);
    if (value !== undefined && (typeof value !== "object" || Array.isArray(value)))
      throw new InvalidOptionError("resolve", kindOf(value), "Have it return an object, null or undefined.");
    return value as Value | undefined;
  };
  const sync = new MemorySync(parts, agent, new RemoteMemory(client), decide, signal);
  return await parts.turns.take('["","sync"]', async () => await sync.run());
}
