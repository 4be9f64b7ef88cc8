import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { InvalidOptionError, StratigraphError, type Duration } from "@stratigraph/core";
import {
  checkOptions,
  kindOf,
  Renewal,
  stopwatch,
  signalWithin,
  sleep,
  validId,
  waitMsOf,
  type OptionNames,
} from "@stratigraph/core/internal";
import type { StoredItem, VersionCheck } from "@stratigraph/core/tier";
import { noteText, noteOf, type Author } from "./author.ts";
import { isMade } from "./commitQueue.ts";
import type { Parts } from "./parts.ts";

/** Options of {@link Workspace.lock}. */
export interface LockOptions {
  /** How long a lock outlives its holder's last sign of life. A living holder renews it. Default "30s". */
  readonly ttl?: Duration | undefined;
  /** How long to wait while others hold it. Default "1m". */
  readonly waitFor?: Duration | undefined;
  /** Ends the waiting, and is aborted with the work's own signal when the lock is lost. */
  readonly signal?: AbortSignal | undefined;
}

const lockOptionNames: OptionNames<LockOptions> = { ttl: true, waitFor: true, signal: true };

/** A lock that is held. */
export interface HeldLock {
  readonly key: string;
  /** Grows from holder to holder. */
  readonly token: number;
  readonly author: Author;
  readonly since: Date;
}

const namespace = ["", "locks"];

/** Pauses between two attempts, in milliseconds: from, to. */
const pauseMs = { first: 20, longest: 500 };

/** A lock that this process holds, as far as it knows. The storage decides: pass it to writes. */
export class Lock {
  readonly keys: readonly string[];
  /** A fencing token for resources outside: larger than those of all earlier holders. They have to refuse smaller ones. */
  readonly token: number;
  /** Aborted when the lock is lost. */
  readonly signal: AbortSignal;
  /** @internal What has to hold when a guarded write is made. */
  readonly checks: readonly VersionCheck[];
  readonly #ended: AbortController;
  /** The workspace whose lock it is. */
  readonly #workspace: string;

  /** @internal */
  constructor(checks: readonly VersionCheck[], ended: AbortController, workspace: string) {
    this.#workspace = workspace;
    this.checks = checks;
    this.keys = checks.map(({ key }) => key);
    this.token = Math.max(...checks.map(({ version }) => version));
    this.signal = ended.signal;
    this.#ended = ended;
  }

  /** @internal Whether it is a lock of this workspace. */
  static isOf(lock: unknown, workspace: string): lock is Lock {
    return typeof lock === "object" && lock !== null && #workspace in lock && lock.#workspace === workspace;
  }

  /** @internal Notes that another may hold it. */
  lost(): StratigraphError {
    const error = new StratigraphError(
      "LOCK_LOST",
      `Lock ${this.keys.map((key) => JSON.stringify(key)).join(", ")} isn't held any more: it expired while its holder was silent, or its work has ` +
        `ended. Writes under it are refused from then on. Read again what the work depends on, and begin anew.`,
      { keys: this.keys, token: this.token },
    );
    this.#ended.abort(error);
    return error;
  }
}

/** What has to hold for a write under a lock. @throws InvalidOptionError if it isn't one of this workspace */
export function checksOf(lock: unknown, { name }: Parts): readonly VersionCheck[] {
  if (Lock.isOf(lock, name)) return lock.checks;
  const advice = `Pass what lock() of workspace ${JSON.stringify(name)} gives to its function.`;
  throw new InvalidOptionError("lock", kindOf(lock), advice);
}

/** Runs work under locks. All are taken in one commit, so holders never wait for each other. */
export async function withLock<T>(
  parts: Parts,
  agent: string | undefined,
  keys: string | readonly string[],
  options: LockOptions,
  work: (lock: Lock) => T | Promise<T>,
): Promise<T> {
  checkOptions("lock", options, lockOptionNames);
  if (typeof work !== "function")
    throw new InvalidOptionError("work", kindOf(work), "Pass a function as the third argument.");
  const { ttl = "30s", waitFor = "1m", signal } = options;
  const ttlMs = waitMsOf("ttl", ttl);
  if (ttlMs < 100) throw new InvalidOptionError("ttl", ttl, 'Pass at least "100ms".');
  if (typeof keys !== "string" && !Array.isArray(keys))
    throw new InvalidOptionError("keys", kindOf(keys), "Pass a key or a list of keys.");
  const names = [...new Set<unknown>(typeof keys === "string" ? [keys] : keys)].map((key) =>
    validId("keys", key),
  );
  if (names.length === 0) throw new InvalidOptionError("keys", "no keys", "Name at least one lock.");
  const waitMs = waitMsOf("waitFor", waitFor);
  if (signal !== undefined) setMaxListeners(0, signal);
  const waiting = signalWithin(waitMs, signal);
  // Those of this process who want the same ask one at a time. Who wants a part of it may get that before.
  const endTurn = await parts.lockTurns.take(JSON.stringify(names.toSorted()), waiting.signal);
  try {
    if (endTurn === undefined)
      throw signal?.aborted === true ? signal.reason : await lockedError(parts, names, waitMs);
    const held = await take(parts, agent, names, ttlMs, waitMs, waiting.signal, signal);
    waiting.release();
    return await holding(parts, held, ttlMs, signal, work);
  } finally {
    waiting.release();
    endTurn?.();
  }
}

/** Runs work under locks that were taken, and gives them back. */
async function holding<T>(
  parts: Parts,
  { checks, ageMs }: Taken,
  ttlMs: number,
  signal: AbortSignal | undefined,
  work: (lock: Lock) => T | Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const lock = new Lock(checks, ended, parts.name);
  const at = checks.map(({ namespace, key }) => ({ namespace, key }));
  const touches = at.map((address) => ({ ...address, as: "touch" as const, ttlMs }));
  const renewal = new Renewal({
    forMs: ttlMs,
    times: 3,
    renew: async () =>
      isMade(await parts.queue.commit({ checks, changes: touches })) ? undefined : "another has it",
    onLost: () => lock.lost(),
  });
  renewal.begin(ageMs);
  const onAbort = (): void => ended.abort(signal!.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  let isLost = false;
  let result: T;
  try {
    // It may have been aborted while the lock was being taken.
    signal?.throwIfAborted();
    result = await work(lock);
  } finally {
    renewal.stop();
    signal?.removeEventListener("abort", onAbort);
    // How long it takes to give it back is nothing to the work, which has ended.
    isLost = !renewal.isHeld;
    // What can't be given back now expires. One that was lost is another's.
    const given = await parts.queue.commit({ checks, changes: at }).catch(() => undefined);
    // It may have been given back by a commit whose answer was lost. If it can't have expired and somebody has it, it was lost before.
    if (given !== undefined && !isMade(given) && renewal.isHeld)
      isLost ||= (await readLocks(parts, lock.keys).catch(() => [])).length > 0;
  }
  if (isLost) throw lock.lost();
  return result;
}

interface Taken {
  readonly checks: VersionCheck[];
  /** Since the request that took them was begun. */
  readonly ageMs: () => number;
}

async function take(
  parts: Parts,
  agent: string | undefined,
  names: readonly string[],
  ttlMs: number,
  waitMs: number,
  waiting: AbortSignal,
  signal: AbortSignal | undefined,
): Promise<Taken> {
  const holder = randomUUID();
  for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.longest)) {
    signal?.throwIfAborted();
    // Its own time counts from before the storage's: so it never believes in a lock longer than the storage does.
    const ageMs = stopwatch();
    const note = noteText(agent, undefined);
    const changes = await Promise.all(
      names.map(async (key) => ({
        ...(await parts.coder.capture({ namespace, key }, { holder, note })()),
        ttlMs,
      })),
    );
    const checks = names.map((key) => ({ namespace, key, version: 0 }));
    const result = await parts.queue.commit({ checks, changes });
    if (isMade(result) && result.versions.every((version) => version > 0))
      return {
        checks: names.map((key, nth) => ({ namespace, key, version: result.versions[nth]! })),
        ageMs,
      };
    const held = await readLocks(parts, names);
    // The answer to the commit that took them may have been lost.
    if (held.length === names.length && held.every((lock) => lock.holder === holder))
      return { checks: held.map(({ key, token }) => ({ namespace, key, version: token })), ageMs };
    if (waiting.aborted && signal?.aborted !== true) throw await lockedError(parts, names, waitMs, held);
    await sleep(pause * (0.5 + Math.random()), waiting);
  }
}

interface StoredLock extends HeldLock {
  readonly holder: string;
}

async function readLocks(parts: Parts, names: readonly string[]): Promise<StoredLock[]> {
  const found = await parts.items.read(
    names.map((key) => ({ namespace: ["", parts.name, ...namespace], key })),
  );
  return await Promise.all(found.flatMap((item) => (item === undefined ? [] : [opened(parts, item)])));
}

async function opened(parts: Parts, item: StoredItem): Promise<StoredLock> {
  const { key, version, createdAtMs, value } = item;
  const { holder, note } = await parts.coder.decode({ namespace, key, value });
  const { author } = noteOf(String(note));
  return { key, token: version, author, since: new Date(createdAtMs), holder: String(holder) };
}

/** All locks of a workspace, newest first, at most 1,000. */
export async function heldLocks(parts: Parts): Promise<HeldLock[]> {
  const prefixes = [["", parts.name, ...namespace]];
  const { items } = await parts.items.search({ prefixes, tests: [], limit: 1000 });
  const locks = await Promise.all(items.map((item) => opened(parts, item)));
  return locks.map(({ key, token, author, since }) => ({ key, token, author, since }));
}

async function lockedError(
  parts: Parts,
  names: readonly string[],
  waitMs: number,
  found?: readonly HeldLock[],
): Promise<StratigraphError> {
  const held = found ?? (await readLocks(parts, names));
  const shown = held.map(
    ({ key, author, since }) =>
      `${JSON.stringify(key)} by ${author.agent ?? author.run ?? "an unnamed agent"} since ${since.toISOString()}`,
  );
  return new StratigraphError(
    "LOCKED",
    `Waited ${waitMs} ms for lock ${names.map((key) => JSON.stringify(key)).join(", ")}; held: ${shown.join(", ") || "nothing now"}. ` +
      `Raise waitFor, or see who holds it with workspace.locks().`,
    { keys: names, held: held.map(({ key, token, author }) => ({ key, token, author })) },
  );
}
