import { createHash } from "node:crypto";
import { NotFoundError, StratigraphError, type ThreadInfo, type TierSaver } from "@stratigraph/core";
import {
  decodeCursor,
  encodeCursor,
  findsLeftovers,
  isArchiveSource,
  isThreadInfo,
  threadNamedBy,
} from "@stratigraph/core/internal";
import type { Context } from "../table/context.ts";
import { allPlaces, storageOf, type Place, type Storage } from "./places.ts";
import { findingOf, type Finding, type Report } from "./report.ts";
import { Throttle, rateOf } from "./throttle.ts";
import { healthOf, isDeleted, leak, lost, unlisted } from "./verifyThread.ts";
import type { Suspicion } from "./suspicion.ts";

/** What is verified, and how fast. */
export interface VerifyInput {
  readonly threads: readonly string[];
  readonly sample?: string | undefined;
  readonly seed: string;
  readonly since?: string | undefined;
  readonly rate?: string | undefined;
  readonly keep: number;
  readonly cursor?: string | undefined;
}

/** Where to go on: after a thread, or after a number of the named ones; then the place in which to look for remains of deleted threads. */
interface Cursor {
  readonly after?: ThreadInfo;
  readonly done?: number;
  readonly place?: number;
}

/** Tiers note to the minute when a thread was written. */
const minuteMs = 60_000;

/**
 * Verifies the threads of a saver, one after the other, and then looks for what deleted threads left. A tier that caches in memory
 * what it read, as those of object storage do, should be opened for this alone, so that the storage is really read.
 */
export async function verifyStorage(
  saver: Pick<TierSaver, "tier" | "coder">,
  input: VerifyInput,
  context: Pick<Context, "signal" | "progress">,
): Promise<Report> {
  const run = new Verification(storageOf(saver), input, context);
  return await run.report();
}

class Verification {
  readonly #storage: Storage;
  readonly #input: VerifyInput;
  readonly #context: Pick<Context, "signal" | "progress">;
  readonly #throttle: Throttle;
  readonly #findings: Finding[] = [];
  readonly #counts: Partial<Record<Finding["kind"], number>> = {};
  readonly #unreachable = new Set<string>();
  readonly #totals = { threads: 0, checkpoints: 0, writes: 0, blobs: 0, bytes: 0 };
  #counted = 0;
  #leftOut = 0;
  #unsettled = 0;

  constructor(storage: Storage, input: VerifyInput, context: Pick<Context, "signal" | "progress">) {
    this.#storage = storage;
    this.#input = input;
    this.#context = context;
    this.#throttle = new Throttle(input.rate === undefined ? undefined : rateOf(input.rate), context.signal);
  }

  async report(): Promise<Report> {
    const startedAt = new Date();
    const from = this.#from();
    const stoppedAt =
      (from.place === undefined ? await this.#threads(from) : undefined) ?? (await this.#deleted(from));
    return {
      complete: stoppedAt === undefined,
      ...(stoppedAt === undefined ? {} : { cursor: encodeCursor(stoppedAt) }),
      startedAt: startedAt.toISOString(),
      tiers: allPlaces(this.#storage).map(({ name, role }) => ({ tier: name, role })),
      totals: {
        ...this.#totals,
        seconds: (Date.now() - startedAt.getTime()) / 1000,
        findings: this.#counts,
      },
      findings: this.#findings,
      leftOut: this.#leftOut,
      unsettled: this.#unsettled,
      unreachable: [...this.#unreachable],
    };
  }

  #from(): Cursor {
    const { cursor } = this.#input;
    const { length } = allPlaces(this.#storage);
    return cursor === undefined
      ? {}
      : decodeCursor(cursor, isCursorAmong(length), "Pass the cursor of an earlier report unchanged.");
  }

  /** @returns where to go on; undefined if all are done */
  async #threads(from: Cursor): Promise<Cursor | undefined> {
    for await (const { threadId, writtenAtMs, next } of this.#wanted(from)) {
      await this.#verify(threadId, writtenAtMs);
      if (this.#context.signal.aborted) return next;
    }
    return undefined;
  }

  async *#wanted(from: Cursor): AsyncGenerator<{ threadId: string; writtenAtMs?: number; next: Cursor }> {
    const { threads, since } = this.#input;
    if (threads.length > 0) {
      for (const [n, threadId] of threads.entries())
        if (n >= (from.done ?? 0)) yield { threadId, next: { done: n + 1 } };
      return;
    }
    // Least recently written first: a thread that is written meanwhile moves to the end. It may be met twice, but is never missed.
    const sinceMs = since === undefined ? undefined : Math.floor(Date.parse(since) / minuteMs) * minuteMs;
    const after = from.after ?? (sinceMs === undefined ? undefined : justBefore(sinceMs));
    const beganMs = Date.now() - minuteMs;
    // Threads that are written to all the time come again and again. If as many known threads came in a row as there are threads, all
    // were verified.
    const again = new Set<string>();
    let repeated = 0;
    const damaged: Error[] = [];
    const query = { onDamaged: (error: Error) => void damaged.push(error) };
    for await (const info of this.#storage.tier.threads(after === undefined ? query : { ...query, after })) {
      const { threadId, writtenAtMs } = info;
      if (again.has(threadId)) {
        repeated += 1;
        if (repeated > again.size) break;
        continue;
      }
      repeated = 0;
      if (writtenAtMs >= beganMs) again.add(threadId);
      if (!this.#isInSample(threadId)) continue;
      yield { threadId, writtenAtMs, next: { after: info } };
    }
    yield* this.#unlisted(damaged);
  }

  /** Threads that exist but can't be listed. Those whose ids aren't known are reported at once. */
  async *#unlisted(damaged: readonly Error[]): AsyncGenerator<{ threadId: string; next: Cursor }> {
    const place = this.#storage.owners[0]!;
    for (const error of damaged) {
      const threadId = threadNamedBy(error);
      if (threadId !== undefined) {
        const before = this.#counted;
        yield { threadId, next: {} };
        if (this.#counted === before) await this.#found(threadId, unlisted(place, error));
      } else await this.#found(undefined, unlisted(place, error));
    }
  }

  #isInSample(threadId: string): boolean {
    const { sample, seed } = this.#input;
    if (sample === undefined) return true;
    const share = Number(sample.slice(0, -1)) / 100;
    const digest = createHash("sha256").update(`${seed}\0${threadId}`).digest();
    return digest.readUInt32BE(0) / 2 ** 32 < share;
  }

  async #verify(threadId: string, writtenAtMs: number | undefined): Promise<void> {
    const took = (bytes: number): Promise<void> => this.#throttle.took(bytes);
    const health = await healthOf(this.#storage, threadId, { took, writtenAtMs });
    const isNamed = this.#input.threads.length > 0;
    if (isNamed && health.checkpoints + health.findings.length === 0)
      await checkKnown(this.#storage, threadId);
    for (const suspicion of health.findings) await this.#found(threadId, suspicion);
    for (const tier of health.unreachable) this.#unreachable.add(tier);
    if (health.unsettled) this.#unsettled += 1;
    this.#totals.threads += 1;
    for (const name of ["checkpoints", "writes", "blobs", "bytes"] as const)
      this.#totals[name] += health[name];
    this.#context.progress({ done: this.#totals.threads, unit: "threads", at: threadId });
    await this.#throttle.tookThread();
  }

  async #found(threadId: string | undefined, suspicion: Suspicion & { leftover?: string }): Promise<void> {
    this.#counted += 1;
    this.#counts[suspicion.kind] = (this.#counts[suspicion.kind] ?? 0) + 1;
    if (this.#findings.length < this.#input.keep)
      this.#findings.push(await findingOf(this.#storage, threadId, suspicion));
    else this.#leftOut += 1;
  }

  /** Looks for what deleted threads left, unless only some threads are verified. @returns where to go on */
  async #deleted(from: Cursor): Promise<Cursor | undefined> {
    const { threads, sample, since } = this.#input;
    if (threads.length > 0 || sample !== undefined || since !== undefined) return undefined;
    const places = [...this.#storage.owners, ...this.#storage.copies];
    for (const [n, place] of places.entries()) {
      if (n < (from.place ?? 0)) continue;
      if (this.#context.signal.aborted) return { place: n };
      try {
        if (!(await this.#deletedIn(place))) return { place: n };
      } catch (error) {
        if (place.role !== "hot" || !StratigraphError.is(error)) throw error;
        this.#unreachable.add(place.name);
      }
    }
    return undefined;
  }

  /** Verifies threads that are in a tier, or were, and that its owner deleted. False if it was aborted. */
  async #deletedIn(place: Place): Promise<boolean> {
    if (findsLeftovers(place.tier)) {
      for await (const leftover of place.tier.leftovers()) {
        const { id, threadId, what, kind } = leftover;
        if (kind === "unlisted" && threadId !== undefined) await this.#verify(threadId, undefined);
        else if (kind === "deleted") await this.#found(threadId, { ...leak(place, what), leftover: id });
        else await this.#found(threadId, { ...lost(place, leftover), leftover: id });
        await this.#throttle.tookThread();
      }
      if (place === this.#storage.owners[0]) return true;
    }
    const [main] = this.#storage.owners;
    const damaged: Error[] = [];
    for await (const threadId of idsIn(place, main, (error) => void damaged.push(error))) {
      if (this.#context.signal.aborted) return false;
      await this.#throttle.tookThread();
      if (!(await isDeleted(main!, threadId))) continue;
      const look = { took: (bytes: number) => this.#throttle.took(bytes) };
      const { findings } = await healthOf(this.#storage, threadId, look);
      for (const suspicion of findings)
        if (suspicion.kind === "tombstone-leak" && suspicion.place === place)
          await this.#found(threadId, suspicion);
    }
    // Those of the owner of heads were reported when its threads were verified.
    if (place !== main)
      for (const error of damaged) await this.#found(threadNamedBy(error), unlisted(place, error));
    return true;
  }
}

/** @throws NotFoundError if no tier ever had the thread */
async function checkKnown({ tier }: Storage, threadId: string): Promise<void> {
  if ((await tier.peek({ threadId, namespace: "" })).revision > 0) return;
  const message = `There is no thread ${JSON.stringify(threadId)}. "stratigraph threads" lists threads.`;
  throw new NotFoundError(message, { threadId });
}

/** Threads that their owner deleted and of which a tier may still hold data. */
async function* idsIn(
  place: Place,
  main: Place | undefined,
  onDamaged: (error: Error) => void,
): AsyncGenerator<string> {
  if (place === main) {
    if (isArchiveSource(place.tier))
      for await (const { threadId } of place.tier.tombstones({ onDamaged })) yield threadId;
    return;
  }
  for await (const { threadId } of place.tier.threads({ onDamaged })) yield threadId;
}

/** A place in a list of threads right before an instant: no id sorts before the empty one. */
function justBefore(ms: number): ThreadInfo {
  return { threadId: "", revision: 0, writtenAtMs: ms, evicted: false };
}

function isCursorAmong(places: number): (place: unknown) => place is Cursor {
  return (place): place is Cursor => {
    const { after, done = 0, place: at = 0 } = (place ?? {}) as Partial<Cursor>;
    const isCount = (count: unknown): boolean => Number.isInteger(count) && (count as number) >= 0;
    return (after === undefined || isThreadInfo(after)) && isCount(done) && isCount(at) && at < places;
  };
}
