import { checkOptions, InvalidOptionError, validId, type TierSaver } from "@stratigraph/core";
import { CallFront, type PlacedCall } from "./callFront.ts";
import { CallRunner, type CallOutcome } from "./calls/callRunner.ts";
import type { CallRequest } from "./calls/resolve.ts";
import { Session } from "./calls/session.ts";
import { fingerprintOf } from "./identity/fingerprint.ts";
import { siteOf } from "./langgraph/site.ts";
import type { Task } from "./langgraph/taskConfig.ts";
import { JournalLog } from "./log/journalLog.ts";
import { Sealing } from "./log/sealing.ts";
import type { CallOptions, JournalOptions } from "./options.ts";
import { setParts } from "./parts.ts";

/** How many threads a journal keeps the state of. */
const rememberedThreads = 1000;

/**
 * A journal of the calls that graphs make: each happens once, its result is kept with the thread, and what happened can be proved.
 * Made by {@link createJournal}.
 */
export class Journal extends CallFront {
  /** The graphs' checkpointer, in whose storage the journal is. */
  readonly checkpointer: TierSaver;
  readonly #options: JournalOptions;
  readonly #sealing: Sealing;
  readonly #session: Session;
  readonly #runners = new Map<string, { readonly log: JournalLog; readonly runner: CallRunner }>();

  constructor(checkpointer: TierSaver, options: JournalOptions) {
    super();
    this.checkpointer = checkpointer;
    this.#options = options;
    this.#sealing = new Sealing(options.sign);
    this.#session = new Session(checkpointer.tier);
    setParts(this, {
      checkpointer,
      sealing: this.#sealing,
      session: this.#session,
      compensations: this.compensations,
      authorOf: (config) => this.#authorOf(config),
      of: (threadId) => this.#of(threadId),
    });
  }

  /** Writes what waits to be written, and says that this process makes no more calls. The checkpointer stays open. */
  async end(): Promise<void> {
    await Promise.all([...this.#runners.values()].map(({ log }) => log.flush()));
    await this.#session.end();
  }

  /** As {@link end}, for `await using journal = createJournal(checkpointer)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  protected override async call(
    task: Task,
    config: unknown,
    placed: PlacedCall,
    options: CallOptions,
    work: (args: unknown) => unknown,
  ): Promise<CallOutcome> {
    const threadId = validId("configurable.thread_id", task.journal);
    const { log, runner } = this.#of(threadId);
    const { tool, version, argsText, place, toolCallId } = placed;
    const args: unknown = JSON.parse(argsText);
    const { previous, nth } = place;
    const where = {
      ...task.where,
      ...(toolCallId === undefined ? {} : { toolCallId }),
      ...(task.threadId === undefined || task.threadId === log.threadId ? {} : { thread: task.threadId }),
    };
    const request: CallRequest = {
      call: fingerprintOf({ tool, version, args, previous, nth }),
      tool,
      ...(version === null ? {} : { version }),
      effects: options.effects ?? "once",
      previous,
      nth,
      argsHash: this.#sealing.hash(argsText),
      where,
      ...(task.fresh ? { fresh: true } : {}),
    };
    const site = await siteOf(this.checkpointer, task, this.#authorOf(config));
    return await runner.call({ request, argsText, site, options }, () => work(args));
  }

  #authorOf(config: unknown): string | undefined {
    const { author } = this.#options;
    return typeof author === "function" ? author(config) : author;
  }

  #of(threadId: string): { log: JournalLog; runner: CallRunner } {
    const known = this.#runners.get(threadId);
    if (known !== undefined) return known;
    const log = new JournalLog(threadId, this.checkpointer, this.#sealing, this.#session);
    const { policy, policyTimeoutMs = 5000, waitMs = 600_000 } = this.#options;
    const runner = new CallRunner({
      saver: this.checkpointer,
      log,
      session: this.#session,
      sealing: this.#sealing,
      policy,
      policyTimeoutMs,
      waitMs,
    });
    const made = { log, runner };
    this.#runners.set(threadId, made);
    this.#trim();
    return made;
  }

  /** Forgets the state of the threads that were first used longest ago and make no calls now. */
  #trim(): void {
    for (const [threadId, { log, runner }] of this.#runners) {
      if (this.#runners.size <= rememberedThreads) return;
      if (!runner.isIdle || log.hasNotes) continue;
      this.#runners.delete(threadId);
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
    policyTimeoutMs: true,
    sign: true,
    author: true,
    waitMs: true,
  });
  return new Journal(checkpointer, options);
}
