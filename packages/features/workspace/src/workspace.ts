// long file: all that a workspace does, each in a few lines
import type { Item } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import {
  checkedAddress,
  checkedCount,
  checkedLabels,
  checkOptions,
  kindOf,
  validId,
  TierStore,
  type StoreItems,
  endOf,
} from "@stratigraph/core/internal";
import type {
  CommitResult,
  ItemAddress,
  ItemChange,
  LoggedChange,
  StoredItem,
  VersionCheck,
  WorkspaceChange,
} from "@stratigraph/core/tier";
import { forkWorkspace, mergeWorkspaces, type MergedItems, type MergeItemsOptions } from "./branches.ts";
import { Board } from "./board.ts";
import type { ChangeOptions } from "./changeOptions.ts";
import { type Access, inboxNamespace, topicNamespace, type RoleOptions } from "./access.ts";
import { readsOf, type ItemReads } from "./itemReads.ts";
import { trimLog, versionAt, type TrimOptions } from "./moments.ts";
import { checkedName } from "./names.ts";
import { noteText, type Author } from "./author.ts";
import { isMade } from "./commitQueue.ts";
import { readChanges } from "./changesPage.ts";
import { freeze } from "./freeze.ts";
import { follow, soFar } from "./follow.ts";
import { checksOf, heldLocks, withLock, type HeldLock, type Lock, type LockOptions } from "./lock.ts";
import { logPages, noteIn, otherParts, stateOf, toldOf, valueIn, type Parts } from "./parts.ts";
import { PastItems } from "./pastItems.ts";
import { checkedStep, type CheckedStep, type Step } from "./steps.ts";
import { Topic } from "./topic.ts";
import type { PutOptions, WorkspaceItem, Written } from "./workspaceItem.ts";
import { commonPrefixes, WorkspaceItems, type Prefixes } from "./workspaceItems.ts";

/** A change of a workspace, or a message in it, as its log has it. */
export type WorkspaceEvent = {
  readonly version: number;
  readonly at: Date;
  readonly author: Author;
  readonly reason?: string | undefined;
} & (
  | {
      readonly kind: "put";
      readonly namespace: string[];
      readonly key: string;
      readonly value: Record<string, unknown>;
    }
  | { readonly kind: "delete"; readonly namespace: string[]; readonly key: string }
  | { readonly kind: "message"; readonly topic: string; readonly body: Record<string, unknown> }
  | { readonly kind: "message"; readonly to: string; readonly body: Record<string, unknown> }
);

/** What became of a transaction. On a conflict nothing was written. */
export type Transacted =
  | {
      readonly ok: true;
      /** The versions of the changes, by step; 0 for a check. */ readonly versions: readonly number[];
    }
  | {
      readonly ok: false;
      /** The steps whose item has another version than they ask for, by their places, and these items as they are. */
      readonly conflicts: readonly { readonly step: number; readonly current: WorkspaceItem | null }[];
    };

/** Which page of a log to read. */
export interface ChangesOptions {
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
  /** Instead of a cursor: only what came after this version. Default: from the first change that is still there. */
  readonly since?: number | undefined;
  /** Only items of namespaces that begin with these labels, and no messages. */
  readonly prefix?: readonly string[] | undefined;
  /** How many changes at most, up to 1000. Default: 100. */
  readonly limit?: number | undefined;
  /** The page ends before the change with which its values, as JSON, are longer than this, in bytes; the first change is always in it. */
  readonly maxBytes?: number | undefined;
}

/** A page of a log. */
export interface ChangesPage {
  readonly changes: readonly WorkspaceEvent[];
  /** All changes up to this version were read. */
  readonly version: number;
  /** Where the next page begins, also when there is nothing more yet. By it a restored backup is noticed, which a version doesn't show. */
  readonly cursor: string;
  /** Whether there may be more now. */
  readonly more: boolean;
}

/** Which part of a log to read. */
export interface LogOptions {
  /** Only what came after this version. */
  readonly since?: number | undefined;
  /** Only items of namespaces that begin with these labels, and no messages. */
  readonly prefix?: readonly string[] | undefined;
  /** Ends the reading when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** What a checkpoint knows of the workspace that it saw, if a graph keeps it in a channel of its state. */
export interface WorkspaceMark {
  readonly name: string;
  readonly version: number;
}

/** A workspace as it was. */
export interface PastWorkspace extends ItemReads {
  readonly version: number;
}

/** A commit that was made. */
type Made = Exclude<CommitResult, { failed: unknown }> & { readonly changes: readonly WorkspaceChange[] };

/** How often `update` reads an item again before it gives up. */
const mostUpdates = 100;

const page = 256;

/**
 * Memory that several agents share without losing a word: items with versions and authors, a log of all changes, messages, locks.
 * Made by {@link createWorkspace}. Namespaces, keys, filters and limits are those of LangGraph's store.
 */
export class Workspace {
  readonly #parts: Parts;
  readonly #access: Access;
  readonly #agent: string | undefined;
  readonly #store: TierStore;
  readonly #reads: ItemReads;

  /** @internal Use {@link createWorkspace}. */
  constructor(parts: Parts, access: Access, agent: string | undefined) {
    this.#parts = parts;
    this.#access = access;
    this.#agent = agent;
    const items = new WorkspaceItems(parts.items, parts.name, access.read, (changes) =>
      this.#changeAll(changes),
    );
    this.#store = this.#storeOver(items);
    this.#reads = readsOf(this.#store);
  }

  get name(): string {
    return this.#parts.name;
  }

  /** LangGraph's store over this workspace's items, for `compile({ store })` and `createAgent`. Its puts have authors; the last one counts. */
  store(): TierStore {
    return this.#store;
  }

  /** The version of the newest change, 0 before the first. */
  async version(): Promise<number> {
    return (await stateOf(this.#parts)).version;
  }

  async get(namespace: string[], key: string): Promise<WorkspaceItem | null> {
    return await this.#reads.get(namespace, key);
  }

  /** As LangGraph's store. */
  async search(...args: Parameters<ItemReads["search"]>): Promise<WorkspaceItem[]> {
    return await this.#reads.search(...args);
  }

  /** As LangGraph's store. */
  async listNamespaces(...args: Parameters<ItemReads["listNamespaces"]>): Promise<string[][]> {
    return await this.#reads.listNamespaces(...args);
  }

  /**
   * Puts an item in the place of the one that is there. With `ifVersion`, only if that has this version; another one is returned, not thrown.
   * @throws InvalidAddressError, InvalidOptionError; StratigraphError "SERIALIZATION", "ACCESS_DENIED", "LOCK_LOST"
   */
  async put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    { reason, lock, ...options }: PutOptions = {},
  ): Promise<Written> {
    return writtenOf(await this.transact([{ put: { namespace, key, value, ...options } }], { reason, lock }));
  }

  /** Deletes an item. `ifVersion` as in {@link put}. */
  async delete(
    namespace: string[],
    key: string,
    { reason, lock, ...options }: Omit<PutOptions, "ttl"> = {},
  ): Promise<Written> {
    return writtenOf(await this.transact([{ delete: { namespace, key, ...options } }], { reason, lock }));
  }

  /**
   * Changes an item by a function of what is there, as often as it takes until no other writer came between.
   * @param change gets the value, or undefined if there is no item. Returns the new one; null to delete; undefined to leave it. It may be called
   * several times
   * @returns the item as this call left it
   * @throws StratigraphError "VERSION_CONFLICT" if others came between 100 times
   */
  async update(
    namespace: string[],
    key: string,
    change: (
      value: Record<string, unknown> | undefined,
    ) => Record<string, unknown> | null | undefined | Promise<Record<string, unknown> | null | undefined>,
    { reason, lock, ...rest }: Omit<PutOptions, "ifVersion"> = {},
  ): Promise<WorkspaceItem | null> {
    if (typeof change !== "function")
      throw new InvalidOptionError("change", kindOf(change), "Pass a function.");
    const at = checkedAddress({ namespace, key });
    this.#access.maySee(at.namespace);
    this.#access.mayWrite(at.namespace);
    return await this.#parts.turns.take(JSON.stringify([...at.namespace, at.key]), async () => {
      let current = await this.get(namespace, key);
      for (let attempt = 0; attempt < mostUpdates; attempt += 1) {
        const next = await change(current?.value);
        if (next === undefined || (next === null && current === null)) return current;
        const ifVersion = current?.version ?? 0;
        const step: Step =
          next === null
            ? { delete: { namespace, key, ifVersion } }
            : { put: { namespace, key, value: next, ...rest, ifVersion } };
        const { outcome, made } = await this.#transacted([step], { reason, lock });
        if (outcome.ok) return next === null ? null : await this.#asWritten(at, made!, current);
        current = outcome.conflicts[0]!.current;
      }
      throw new StratigraphError(
        "VERSION_CONFLICT",
        `Item ${JSON.stringify(key)} of namespace ${JSON.stringify(namespace)} was changed by others ${mostUpdates} times in a row. Nothing was ` +
          `written. Repeat, or let one writer at a time do it, with workspace.lock().`,
        { namespace, key, version: current?.version ?? 0 },
      );
    });
  }

  /**
   * Makes several changes together, all or none.
   * @throws InvalidAddressError, InvalidOptionError; StratigraphError "SERIALIZATION", "ACCESS_DENIED", "LOCK_LOST"
   */
  async transact(steps: readonly Step[], options: ChangeOptions = {}): Promise<Transacted> {
    return (await this.#transacted(steps, options)).outcome;
  }

  async #transacted(
    steps: readonly Step[],
    { reason, lock }: ChangeOptions,
  ): Promise<{ readonly outcome: Transacted; readonly made?: Made }> {
    if (!Array.isArray(steps)) throw new InvalidOptionError("steps", kindOf(steps), "Pass a list of steps.");
    const checked = (steps as readonly Step[]).map((step, place) =>
      checkedStep(this.#parts, this.#access, `steps[${place}]`, step),
    );
    refuseTwice(checked);
    const locks = lock === undefined ? [] : checksOf(lock, this.#parts);
    if (checked.length === 0 && locks.length === 0) return { outcome: { ok: true, versions: [] } };
    const { result, changes } = await this.#commit(checked, locks, reason);
    if (isMade(result)) {
      let nth = 0;
      const versions = checked.map(({ change }) => (change === undefined ? 0 : result.versions[nth++]!));
      return { outcome: { ok: true, versions }, made: { ...result, changes } };
    }
    const owners = checked.flatMap(({ checks }, step) => checks.map(() => step));
    if (result.failed.some((place) => place >= owners.length)) throw lock!.lost();
    const lost = result.failed.map((place) => owners[place]!);
    const current = await this.#store.batch(
      lost.map((step) => ({ namespace: [...checked[step]!.at.namespace], key: checked[step]!.at.key })),
    );
    const conflicts = lost.map((step, nth) => ({
      step,
      current: (current[nth] ?? null) as WorkspaceItem | null,
    }));
    return { outcome: { ok: false, conflicts } };
  }

  /** The changes of an item, newest first. */
  async *history(namespace: string[], key: string): AsyncGenerator<WorkspaceEvent> {
    const at = checkedAddress({ namespace, key });
    this.#access.maySee(at.namespace);
    const query = { prefixes: [at.namespace], key, newestFirst: true, limit: page };
    for await (const { entries } of logPages(this.#parts, query))
      for (const entry of entries) yield await this.#event(entry);
  }

  /** All changes and messages so far, oldest first. @throws StratigraphError "VERSION_GONE" */
  async *log({ since, prefix, signal }: LogOptions = {}): AsyncGenerator<WorkspaceEvent> {
    for await (const entry of soFar(this.#parts, this.#logged(prefix), since)) {
      if (signal?.aborted === true) return;
      if (this.#isTold(entry, prefix)) yield await this.#event(entry);
    }
  }

  /**
   * A page of the log, oldest first, for readers that keep their place in it elsewhere. Without `since` and `cursor` the pages begin with the
   * first change that is still there, so that by their end they have told every item that exists, even of a trimmed log.
   * @throws StratigraphError "VERSION_GONE"; its `data.restored` says whether the storage was set back
   */
  async changes(options: ChangesOptions = {}): Promise<ChangesPage> {
    checkOptions("changes", options, {
      ...{ cursor: true, since: true, prefix: true, limit: true, maxBytes: true },
    });
    const { cursor, since, prefix } = options;
    const [limit, maxBytes] = [options.limit ?? 100, checkedCount("maxBytes", options.maxBytes, Infinity)];
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new InvalidOptionError("limit", limit, "Pass a whole number from 1 to 1000.");
    if (cursor !== undefined && since !== undefined)
      throw new InvalidOptionError("since", since, "Pass a cursor or a version, not both.");
    const page = await readChanges(this.#parts, this.#logged(prefix), cursor, since, limit);
    const changes: WorkspaceEvent[] = [];
    let bytes = 0;
    for (const [nth, entry] of page.entries.entries()) {
      if (!this.#isTold(entry, prefix)) continue;
      const event = await this.#event(entry);
      if ("value" in event) bytes += Buffer.byteLength(JSON.stringify(event.value));
      if (bytes > maxBytes && changes.length > 0)
        return { changes, ...page.until(page.entries[nth - 1]!), more: true };
      changes.push(event);
    }
    return { changes, ...page.end, more: page.more };
  }

  /**
   * Changes and messages as they come, in order, each at least once. Goes on when the storage was away for less than a minute.
   * @param options `since`: the version after which to begin; default: now
   * @throws StratigraphError "VERSION_GONE"
   */
  async *watch({ since, prefix, signal }: LogOptions = {}): AsyncGenerator<WorkspaceEvent> {
    const prefixes = this.#logged(prefix);
    const from =
      since === undefined ? endOf(await stateOf(this.#parts)) : { version: checkedCount("since", since, 0) };
    for await (const entry of follow(this.#parts, prefixes, from, signal))
      if (this.#isTold(entry, prefix)) yield await this.#event(entry);
  }

  /**
   * The workspace's name and version, for a channel of a graph's state. So each checkpoint knows what it saw: `at(mark)` reads it, and
   * `fork(name, { at: mark })` goes on from it, after time travel and in forks of the thread too.
   */
  async mark(): Promise<WorkspaceMark> {
    return { name: this.name, version: await this.version() };
  }

  /**
   * A new workspace with the items of this one as they are, or as they were at a version, a time or a mark. Its changes don't touch this one;
   * {@link merge} brings them back. A fork that was cut short is completed by the same call.
   * @throws StratigraphError "VERSION_GONE"; InvalidOptionError if there is such a workspace already
   */
  async fork(
    name: string,
    options: { readonly at?: number | Date | WorkspaceMark | undefined } = {},
  ): Promise<Workspace> {
    checkOptions("fork", options, { at: true });
    this.#access.mayDo("fork()");
    const to = otherParts(this.#parts, checkedName("name", name));
    const at = options.at === undefined ? undefined : (await this.at(options.at)).version;
    await forkWorkspace(this.#parts, to, at);
    return new Workspace(to, this.#access, this.#agent);
  }

  /**
   * Brings what a fork of this workspace, or the one that this is a fork of, changed since the two last met into this one, all or nothing. An
   * item that only one of them changed is taken as it is there. One that both changed is united: objects by key, lists by what each added.
   * @throws StratigraphError "VERSION_CONFLICT", "VERSION_GONE"; InvalidOptionError if neither is a fork of the other
   */
  async merge(from: string, options: MergeItemsOptions = {}): Promise<MergedItems> {
    checkOptions("merge", options, { resolve: true, reason: true });
    this.#access.mayDo("merge()");
    return await mergeWorkspaces(
      this.#parts,
      otherParts(this.#parts, checkedName("from", from)),
      this.#agent,
      options,
    );
  }

  /** The items as they were at a version, a time or a mark of this workspace. @throws StratigraphError "VERSION_GONE" */
  async at(when: number | Date | WorkspaceMark): Promise<PastWorkspace> {
    const isMark = typeof when === "object" && !(when instanceof Date);
    const version = await versionAt(this.#parts, this.#momentOf(when), isMark);
    const past = new PastItems(this.#parts, version, this.#access.read);
    return { version, ...readsOf(this.#storeOver(past)) };
  }

  /** Messages that all subscribers of a topic get. */
  topic(name: string): Topic {
    return this.#topic(topicNamespace(checkedName("topic", name)), (body) => ({
      publish: { topic: name, body },
    }));
  }

  /** Messages to one agent. Default: to the agent of this handle. */
  inbox(agent: string | undefined = this.#agent): Topic {
    const to = agent === undefined ? undefined : checkedName("agent", agent);
    if (to === undefined) throw new InvalidOptionError("agent", agent, "Name the agent whose inbox it is.");
    return this.#topic(inboxNamespace(to), (body) => ({ send: { to, body } }));
  }

  #topic(namespace: string[], step: (body: Record<string, unknown>) => Step): Topic {
    return new Topic(this.#parts, this.#access, namespace, async (body, options) => {
      const result = await this.transact([step(body)], options);
      // Without a condition there is no conflict.
      return result.ok ? result.versions[0]! : 0;
    });
  }

  /** Sends a message to one agent's inbox. */
  async send(to: string, body: Record<string, unknown>, options?: ChangeOptions): Promise<number> {
    return await this.inbox(to).publish(body, options);
  }

  /**
   * Runs work while nobody else holds any of these locks. Writes that pass `{ lock }` are refused once it isn't held any more.
   * @throws StratigraphError "LOCKED" if another holds it for longer than `waitFor`; "LOCK_LOST" if it expired before the work ended
   */
  async lock<T>(
    keys: string | readonly string[],
    options: LockOptions | undefined,
    work: (lock: Lock) => T | Promise<T>,
  ): Promise<T> {
    return await withLock(this.#parts, this.#agent, keys, options ?? {}, work);
  }

  /** Tasks of several agents. They are items of a namespace, which a role has to be able to read and write. */
  board(name = "board"): Board {
    const held = (): Promise<HeldLock[]> => heldLocks(this.#parts);
    return new Board(
      {
        get: (...args) => this.get(...args),
        put: (...args) => this.put(...args),
        update: (...args) => this.update(...args),
        search: (...args) => this.search(...args),
        lock: (...args) => this.lock(...args),
        held,
      },
      [validId("name", name)],
    );
  }

  /** Who holds what. */
  async locks(): Promise<HeldLock[]> {
    this.#access.mayDo("locks()");
    return await heldLocks(this.#parts);
  }

  /** The part of this workspace that a role may use, as a handle of its own. What it does is marked with the role as its agent. */
  as(role: string, options: RoleOptions = {}): Workspace {
    const agent = checkedName("role", role);
    return new Workspace(this.#parts, this.#access.as(agent, options), agent);
  }

  /** Removes entries of the log before a version, or before a time, apart from those of items as they are. Returns how many. */
  async trim(before: number | Date, options: TrimOptions = {}): Promise<number> {
    this.#access.mayDo("trim()");
    return await trimLog(this.#parts, before, options);
  }

  /** @internal All that a workspace is made of, for work that concerns the whole of it. */
  partsFor(work: string): { readonly parts: Parts; readonly agent: string | undefined } {
    this.#access.mayDo(work);
    return { parts: this.#parts, agent: this.#agent };
  }

  #momentOf(when: number | Date | WorkspaceMark): number | Date {
    if (typeof when === "number" || when instanceof Date) return when;
    const { name, version } = Object(when) as Partial<WorkspaceMark>;
    if (name === this.name && version !== undefined) return version;
    const advice = `Pass a version, a Date, or a mark of workspace ${JSON.stringify(this.name)}.`;
    throw new InvalidOptionError("at", name ?? kindOf(when), advice);
  }

  #storeOver(items: StoreItems): TierStore {
    return new TierStore(
      items,
      this.#parts.coder,
      this.#parts.ttl,
      undefined,
      async (item, stored) => await this.#dressed(item, stored),
    );
  }

  async #dressed(item: Item, stored: StoredItem): Promise<WorkspaceItem> {
    const { author, reason } = await noteIn(this.#parts, stored);
    if (this.#parts.freezes) freeze(item.value);
    return { ...item, version: stored.version, author, ...(reason !== undefined && { reason }) };
  }

  /** The item that a commit of one put left, as a read returns it. */
  async #asWritten(
    at: ItemAddress,
    { changes: [change], versions: [version], atMs }: Made,
    before: WorkspaceItem | null,
  ): Promise<WorkspaceItem> {
    const { value, note } = change!;
    const createdAtMs = before?.createdAt.getTime() ?? atMs;
    const stored = { ...at, value: value!, note, version: version!, createdAtMs, updatedAtMs: atMs };
    const times = { createdAt: new Date(createdAtMs), updatedAt: new Date(atMs) };
    const item = { namespace: [...at.namespace], key: at.key, ...times };
    return await this.#dressed({ ...item, value: (await valueIn(this.#parts, stored))! }, stored);
  }

  #logged(prefix: readonly string[] | undefined): Prefixes {
    if (prefix === undefined) return this.#access.logged;
    return commonPrefixes([checkedLabels("prefix", prefix)], this.#access.read);
  }

  #isTold({ namespace, kind }: LoggedChange, prefix: readonly string[] | undefined): boolean {
    return this.#access.sees(namespace) && (prefix === undefined || kind !== "message");
  }

  async #event(change: LoggedChange): Promise<WorkspaceEvent> {
    const { kind, key } = change;
    const { told, value } = await toldOf(this.#parts, change);
    const namespace = [...change.namespace];
    if (kind === "delete") return { ...told, kind, namespace, key };
    if (kind === "put") return { ...told, kind, namespace, key, value: value! };
    const [, room, name] = namespace;
    return { ...told, kind, ...(room === "topics" ? { topic: name! } : { to: name! }), body: value! };
  }

  async #changeAll(changes: readonly ItemChange[]): Promise<void> {
    for (const { namespace } of changes) this.#access.mayWrite(namespace);
    await this.#commit(
      changes.map((change) => ({ at: change, checks: [], change: async (note) => ({ ...change, note }) })),
      [],
      undefined,
    );
  }

  async #commit(
    steps: readonly CheckedStep[],
    locks: readonly VersionCheck[],
    reason: string | undefined,
  ): Promise<{ readonly result: CommitResult; readonly changes: readonly WorkspaceChange[] }> {
    const text = noteText(this.#agent, reason);
    const changes: WorkspaceChange[] = await Promise.all(
      steps.flatMap(({ at, change }) =>
        change === undefined ? [] : [this.#parts.coder.note(at, text).then(change)],
      ),
    );
    const checks = [...steps.flatMap((step) => step.checks), ...locks];
    return { result: await this.#parts.queue.commit({ checks, changes }), changes };
  }
}

function writtenOf(result: Transacted): Written {
  if (result.ok) return { ok: true, version: result.versions[0]! };
  return { ok: false, current: result.conflicts[0]!.current };
}

function refuseTwice(steps: readonly CheckedStep[]): void {
  const seen = new Set<string>();
  for (const [place, { at, change }] of steps.entries()) {
    const address = JSON.stringify([...at.namespace, at.key]);
    if (change === undefined || at.key === "") continue;
    if (seen.has(address))
      throw new InvalidOptionError(
        `steps[${place}]`,
        address,
        "Change each item at most once in a transaction.",
      );
    seen.add(address);
  }
}
