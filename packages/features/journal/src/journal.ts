// long file: all that a journal does, each in a few lines
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import {
  checkOptions,
  onDeletedRuns,
  RunsUnderWay,
  trace,
  validId,
  waitMsOf,
} from "@stratigraph/core/internal";
import { CallFront, type PlacedCall } from "./callFront.ts";
import { authorIn } from "./calls/author.ts";
import { CallRunner, type CallRunnerParts } from "./calls/callRunner.ts";
import type { CallOutcome, PlannedCall } from "./calls/plannedCall.ts";
import { Session } from "./calls/session.ts";
import type { Digest } from "./identity/fingerprint.ts";
import { requestOf } from "./langgraph/callRequest.ts";
import { siteOf } from "./langgraph/site.ts";
import type { Task } from "./langgraph/taskConfig.ts";
import type { KnownBy } from "./log/entry.ts";
import { JournalLog } from "./log/journalLog.ts";
import { Sealing, type SignOptions } from "./log/sealing.ts";
import type { CallOptions, JournalOptions } from "./options.ts";
import { setParts } from "./parts.ts";
import type { Replay, ReplayOptions } from "./replay/replay.ts";
import { replayOf } from "./replay/replayTrail.ts";
import { momentOf, type Moment } from "./trail/at.ts";
import {
  checkCutOptions,
  checkDate,
  checkEraseOptions,
  checkForgetOptions,
  checkResolveOptions,
  checkText,
  checkTrailOptions,
  checkVerifyOptions,
  type VerifyOptions,
} from "./trail/checkArguments.ts";
import { cutOff, type Cut, type CutOptions } from "./trail/cut.ts";
import { erasePayloads, type Erased, type EraseOptions } from "./trail/erase.ts";
import { exportTrail, type TrailTarget } from "./trail/exportTrail.ts";
import { forgetRuns } from "./trail/forgetRuns.ts";
import type { TrailHead } from "./trail/line.ts";
import {
  forgetCall,
  isUnresolvedBy,
  resolveUnknown,
  unresolvedCalls,
  type ForgetOptions,
  type ResolveOptions,
  type ThreadJournal,
  type UnresolvedCall,
} from "./trail/operator.ts";
import { recordedCalls, type RecordedCall } from "./trail/recordedCalls.ts";
import { trailOf, type TrailEntry, type TrailOptions } from "./trail/trail.ts";
import type { Verification } from "./trail/trailCheck.ts";
import { verifyThread } from "./trail/verifyThread.ts";
import { hasJournal, recordedEntries, trailHead } from "./trail/walk.ts";
import { provenanceOf, type Provenance } from "./trail/why.ts";

/** How many threads' states a journal keeps in memory. */
const rememberedThreads = 1000;

/**
 * A journal of the calls that graphs make: each happens once, its result is kept with the thread, and what happened can be proved.
 * Made by {@link createJournal}.
 */
export class Journal extends CallFront {
  /** The graphs' checkpointer, in whose storage the journal is. */
  readonly checkpointer: TierSaver;
  readonly #options: JournalOptions;
  readonly #limits: Pick<CallRunnerParts, "policyTimeoutMs" | "waitMs">;
  readonly #sealing: Sealing;
  readonly #session: Session;
  readonly #runners = new Map<string, ThreadJournal>();

  constructor(
    checkpointer: TierSaver,
    options: JournalOptions,
    session: Session = new Session(checkpointer.tier),
  ) {
    super();
    this.checkpointer = checkpointer;
    this.#options = options;
    const { policyTimeout = "5s", waitFor = "10m" } = options;
    this.#limits = {
      policyTimeoutMs: waitMsOf("policyTimeout", policyTimeout),
      waitMs: waitMsOf("waitFor", waitFor),
    };
    this.#sealing = new Sealing(options.sign);
    this.#session = session;
    onDeletedRuns(checkpointer, (threadId, runIds) => forgetRuns(this.#of(threadId), runIds));
    setParts(this, {
      checkpointer,
      sealing: this.#sealing,
      session: this.#session,
      compensations: this.compensations,
      authorOf: (config) => authorIn(options.author, config),
      of: (threadId) => this.#of(threadId),
    });
  }

  /** Writes what is still waiting, and declares that this process makes no more calls. The checkpointer stays open. */
  async end(): Promise<void> {
    // Runs that were stopped may still store what they had done.
    const runs = RunsUnderWay.of(this.checkpointer.tier);
    for (const threadId of this.#runners.keys()) await runs.othersEnded({}, threadId)?.catch(() => undefined);
    await Promise.all([...this.#runners.values()].map(({ log }) => log.flush()));
    await this.#session.end();
  }

  /** As {@link end}, for `await using journal = createJournal(checkpointer)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /**
   * The entries of a thread's journal, oldest first, read page by page.
   * @throws InvalidOptionError; CorruptionError if an entry can't be read
   */
  trail(threadId: string, options: TrailOptions = {}): AsyncGenerator<TrailEntry> {
    checkTrailOptions(options);
    return trailOf(
      this.checkpointer,
      validId("threadId", threadId),
      () => this.#of(threadId).log.refresh(),
      options,
    );
  }

  /**
   * Number and hash of the last entry of a thread's journal. Publish it, or keep it where nobody who can write to the storage can change
   * it: with it, {@link verify} shows whether anything before it was removed or replaced.
   * @throws StratigraphError "JOURNAL_BROKEN"; CorruptionError
   */
  async head(threadId: string): Promise<TrailHead> {
    return await trailHead(this.checkpointer, validId("threadId", threadId));
  }

  /**
   * Verifies that the entries of a thread's journal are unchanged, that none is missing, that the values stored with them are unchanged,
   * and that what was erased is no longer stored. Damage is returned, not thrown. Without `head`, it can't detect that the last entries
   * were removed; without `sign`, it can't detect that all were forged.
   * @throws InvalidOptionError; EvictedError if it is in an archive that isn't open; errors of the storage
   */
  async verify(threadId: string, options: VerifyOptions = {}): Promise<Verification> {
    checkVerifyOptions(options);
    return await verifyThread(this.checkpointer, validId("threadId", threadId), this.#sealing, options.head);
  }

  /**
   * Writes a thread's journal, with arguments and results, as lines of JSON: for `verifyTrail`, for replays, for an archive.
   * @param target a stream, which is ended, or the path of a file, which is written anew
   * @returns the head of what was written
   * @throws StratigraphError "JOURNAL_BROKEN"; CorruptionError; errors of the stream
   */
  async export(threadId: string, target: TrailTarget): Promise<TrailHead> {
    // If there are keys, the file is signed as this thread's.
    if (this.#sealing.activeKey !== undefined) await this.#of(validId("threadId", threadId)).log.refresh();
    return await exportTrail(this.checkpointer, validId("threadId", threadId), this.#sealing, target);
  }

  /**
   * Opens a thread's journal for replaying: what runs on it gets the recorded results, and no call is made.
   * @throws InvalidOptionError; CorruptionError
   */
  async replay(threadId: string, options: ReplayOptions = {}): Promise<Replay> {
    const { seq } = await trailHead(this.checkpointer, validId("threadId", threadId));
    const entries = recordedEntries(this.checkpointer, threadId, seq);
    return await replayOf(entries, this.#sealing, "replay", options, this.checkpointer.serde);
  }

  /**
   * Returns what was in the context of the model that made a message: inputs, earlier calls, their results, and the decisions about them
   * (policy, approvals, resolutions), with the checkpoints. This shows what the model had seen, not why it chose what it did.
   * @throws InvalidAddressError; NotFoundError if no checkpoint has the message; CorruptionError
   */
  async why(threadId: string, options: { readonly messageId: string }): Promise<Provenance> {
    const messageId = validId("messageId", (Object(options) as Partial<typeof options>).messageId);
    return await provenanceOf(this.checkpointer, validId("threadId", threadId), this.#sealing, messageId);
  }

  /**
   * Returns the state of a thread at a moment: the checkpoint that was its head, and the last entry of its journal. Times are by the clocks
   * of the processes that wrote to it.
   * @throws InvalidOptionError; CorruptionError
   */
  async at(threadId: string, date: Date): Promise<Moment> {
    checkDate("date", date ?? null);
    return await momentOf(this.checkpointer, validId("threadId", threadId), date);
  }

  /**
   * Returns the calls of a thread: what was asked, how it was decided and what the outcome was, in the order in which they were first made.
   * Hashes aren't verified, so no keys are needed; {@link verify} shows whether the result can be trusted.
   * @throws CorruptionError if an entry can't be read
   */
  async calls(threadId: string): Promise<RecordedCall[]> {
    const journal = this.#of(validId("threadId", threadId));
    return await recordedCalls(this.checkpointer, threadId, async (state, maker) => {
      // A caller with read access only can't try a lease, so it can't know whether the lease's holder is alive.
      return await isUnresolvedBy(journal, state, maker).catch(() => undefined);
    });
  }

  /** The calls whose outcome is unknown, or whose result is asked for and isn't kept: of one thread, or of all threads, which are read one after another. */
  async *unresolved(threadId?: string): AsyncGenerator<UnresolvedCall> {
    if (threadId !== undefined) return yield* unresolvedCalls(this.#of(validId("threadId", threadId)));
    for await (const thread of this.checkpointer.tier.threads({}))
      if (await hasJournal(this.checkpointer, thread.threadId))
        yield* unresolvedCalls(this.#of(thread.threadId));
  }

  /**
   * Records whether a call with an unknown outcome happened, or what a call returned whose result is missing.
   * @throws NotFoundError; InvalidOptionError if the outcome is known; StratigraphError "LOCKED" if the call is being made
   */
  async resolve(fingerprint: Digest, options: ResolveOptions): Promise<void> {
    checkResolveOptions(options);
    await resolveUnknown(this.#of(options.threadId), fingerprint, options);
  }

  /**
   * Lets a call run again as if it had never been made, with a new idempotency key: a service that takes one acts again. For a call whose
   * outcome is unknown, {@link resolve} keeps the key.
   * @throws NotFoundError; InvalidOptionError; StratigraphError "LOCKED" if the call is being made
   */
  async forget(fingerprint: Digest, options: ForgetOptions): Promise<void> {
    checkForgetOptions(options);
    await forgetCall(this.#of(options.threadId), fingerprint, options);
  }

  /**
   * Erases arguments and results of calls from all storages; after an error, erase again. Entries stay, with the hashes of what was erased,
   * so that the trail can still be verified, and calls aren't repeated: a person is asked for the result. Not erased are texts in the entries
   * themselves, such as errors and reasons, and copies: the graph's own checkpoints, forks, exported trails.
   * @throws InvalidOptionError; StratigraphError "OVERLOADED"
   */
  async erase(threadId: string, options: EraseOptions): Promise<Erased> {
    checkEraseOptions(options);
    return await erasePayloads(this.#of(validId("threadId", threadId)), options);
  }

  /**
   * Removes the oldest entries. The rest can still be verified, and calls that were cut off aren't repeated: a person is asked for the result.
   * @throws InvalidOptionError; StratigraphError "OVERLOADED"
   */
  async cut(threadId: string, options: CutOptions): Promise<Cut> {
    checkCutOptions(options);
    return await cutOff(this.#of(validId("threadId", threadId)), options);
  }

  protected override async call(
    task: Task,
    config: unknown,
    placed: PlacedCall,
    options: CallOptions,
    work: (args: unknown) => unknown,
  ): Promise<CallOutcome> {
    const threadId = validId("configurable.thread_id", task.journal);
    const { compensate } = options;
    const onFound = (call: Digest): void => {
      if (compensate !== undefined) this.compensations.setOfCall(threadId, call, compensate);
    };
    const { argsText, refused, toolCallId, former } = placed;
    const author = authorIn(this.#options.author, config);
    const site = await siteOf(this.checkpointer, task, author, toolCallId, former?.names);
    const planned = (knownBy: KnownBy): PlannedCall => {
      const request = requestOf(this.#sealing, threadId, task, placed, knownBy, options.effects);
      return { request, argsText, site, options, onFound, refused };
    };
    return await this.#of(threadId).runner.call(planned, () => work(JSON.parse(placed.given) as unknown));
  }

  #of(threadId: string): ThreadJournal {
    const known = this.#runners.get(threadId);
    if (known !== undefined) {
      this.#runners.delete(threadId);
      this.#runners.set(threadId, known);
      return known;
    }
    const log = new JournalLog(threadId, this.checkpointer, this.#sealing, this.#session);
    const runner = new CallRunner({
      saver: this.checkpointer,
      log,
      session: this.#session,
      sealing: this.#sealing,
      policy: this.#options.policy,
      ...this.#limits,
    });
    const made = { saver: this.checkpointer, log, runner, session: this.#session, sealing: this.#sealing };
    this.#trim();
    this.#runners.set(threadId, made);
    return made;
  }

  /** Makes room for a thread: forgets the states of the least recently used threads that make no calls now. */
  #trim(): void {
    for (const [threadId, { log, runner }] of this.#runners) {
      if (this.#runners.size < rememberedThreads) return;
      if (!runner.isIdle) continue;
      this.#runners.delete(threadId);
      void log.flush().catch((error: unknown) => trace({ type: "hook", hook: "journal", error }));
    }
  }
}

/**
 * Makes a journal of the calls of graphs.
 * @param checkpointer the graphs' own: any saver of Stratigraph
 * @throws InvalidOptionError
 */
export function createJournal(checkpointer: TierSaver, options: JournalOptions = {}): Journal {
  if (typeof (Object(checkpointer) as Partial<TierSaver>).coder?.encode !== "function")
    throw new InvalidOptionError(
      "checkpointer",
      checkpointer,
      "Pass the graph's checkpointer, which has to be a saver of Stratigraph.",
    );
  checkOptions<JournalOptions>("createJournal", options, {
    policy: true,
    policyTimeout: true,
    sign: true,
    author: true,
    waitFor: true,
  });
  const { policy, author, sign } = options;
  if (policy !== undefined && typeof policy !== "function")
    throw new InvalidOptionError(
      "policy",
      policy,
      "Pass a function: (call) => true, false, { deny } or { ask }.",
    );
  if (typeof author !== "function") checkText("author", author);
  checkOptions<SignOptions>("sign", sign, { keys: true, activeKey: true, unsigned: true }, {}, "sign");
  return new Journal(checkpointer, options);
}
