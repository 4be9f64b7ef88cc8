import { setTimeout as sleep } from "node:timers/promises";
import type { Tier } from "@stratigraph/core";
import { RunsUnderWay } from "@stratigraph/core/internal";
import type { RunControl } from "@langchain/langgraph";
import { DrainingError } from "../errors.ts";
import type { ServedSaver } from "../servedSaver.ts";
import { isDrained } from "./control.ts";
import { resolveService, type ServiceOptions } from "./drainOptions.ts";
import { drainStep, type DrainStep } from "./drainStep.ts";
import { Runs, type Run } from "./runs.ts";

/** What a shutdown did. */
export interface DrainReport {
  /** Whether every step was done in time. Runs that had to be aborted, and then ended, are still ok: they are resumable. */
  readonly ok: boolean;
  /** Milliseconds. */
  readonly ms: number;
  readonly runs: {
    /** Runs that ended without a signal, by themselves or because their controls asked for it, after the process took no more. */
    readonly ended: number;
    /** Runs that ended because their signals fired. Started again, they continue from the last stored checkpoint. */
    readonly aborted: number;
    /** Threads of runs that didn't end even after that. Their next call to the checkpointer fails with "CLOSED". At most 100 are listed. */
    readonly left: readonly string[];
  };
  /** In order. */
  readonly steps: readonly DrainStep[];
}

const mostNamed = 100;

/** The runs of a process, and its shutdown. Made by {@link createService}. */
export class Service {
  readonly #saver: ServedSaver;
  readonly #options: ReturnType<typeof resolveService>;
  readonly #runs = new Runs();
  #drained: Promise<DrainReport> | undefined;

  /** @throws InvalidOptionError */
  constructor(saver: ServedSaver, options: ServiceOptions = {}) {
    this.#saver = saver;
    this.#options = resolveService(options);
  }

  /** Whether the shutdown has begun: the process isn't ready. For a while it still takes runs, until the load balancer has noticed. */
  get draining(): boolean {
    return this.#drained !== undefined;
  }

  /** How many runs are under way. */
  get underWay(): number {
    return this.#runs.count;
  }

  /**
   * Counts a run while `work` lasts.
   * @param work is given a signal that fires when the service can't wait for it any longer, and LangGraph's `RunControl`, which asks the
   * graph to end after the step that it is in: pass both to the graph (`graph.invoke(input, { ...config, signal, control })`)
   * @throws DrainingError (status 503) if the process takes no runs any more, and in place of LangGraph's `GraphDrained` (its cause); what
   * else `work` throws
   */
  async run<T>(threadId: string, work: (signal: AbortSignal, control: RunControl) => Promise<T>): Promise<T> {
    const run = this.begin(threadId);
    try {
      return await work(run.signal, run.control);
    } catch (error) {
      if (isDrained(error)) throw new DrainingError(threadId, true, error);
      throw error;
    } finally {
      // A run that was stopped has ended when it has stored what it had done.
      await RunsUnderWay.of(this.#saver.tier)
        .allEnded(threadId)
        ?.catch(() => undefined);
      run.end();
    }
  }

  /**
   * As {@link run}, for runs that aren't one function call, such as a stream that outlives its request handler. Call `end()` of the
   * returned run when it has ended.
   * @throws DrainingError
   */
  begin(threadId: string): Run {
    return this.#runs.begin(threadId);
  }

  /**
   * Shuts down: is not ready, asks runs to end after the step that they are in, waits for the load balancer, takes no more runs, lets those
   * under way end or ends them so that they are resumable, stops maintenance, lets hot tiers get their copies, ends the checkpointer, and closes what `close` names. Every step has a
   * limit. Further calls have the same result. Never rejects: the report tells what went wrong.
   */
  async drain(): Promise<DrainReport> {
    return await (this.#drained ??= this.#drain());
  }

  async #drain(): Promise<DrainReport> {
    const beganMs = performance.now();
    const { limitsMs, stopListening, maintenance, close = {} } = this.#options;
    const steps: DrainStep[] = [];
    this.#runs.requestDrain();
    steps.push(
      await drainStep({ step: "balancer" }, limitsMs.balancer + 1000, () => sleep(limitsMs.balancer)),
    );

    this.#runs.close();
    // Those that were let in meanwhile.
    this.#runs.requestDrain();
    const before = this.#runs.count;
    // Listeners end when their last request has, so they may take as long as the runs.
    const runsMs = limitsMs.runs + limitsMs.abort;
    const beside = [
      ...(stopListening === undefined ? [] : [drainStep({ step: "listeners" }, runsMs, stopListening)]),
      ...(maintenance === undefined
        ? []
        : [drainStep({ step: "maintenance" }, runsMs + limitsMs.maintenance, () => maintenance.stop())]),
    ];
    const ending = await drainStep({ step: "runs" }, limitsMs.runs, () => this.#runs.idle());
    steps.push(ending);
    const unended = this.#runs.count;
    if (ending.outcome === "late") {
      this.#runs.abort();
      steps.push(await drainStep({ step: "abort" }, limitsMs.abort, () => this.#runs.idle()));
    }
    const left = this.#runs.threadIds;
    steps.push(...(await Promise.all(beside)));

    const { tier } = this.#saver;
    if (makesCopies(tier))
      steps.push(await drainStep({ step: "copies" }, limitsMs.copies, () => tier.idle()));
    steps.push(await drainStep({ step: "saver" }, limitsMs.saver, () => this.#saver.end()));
    steps.push(
      ...(await Promise.all(
        Object.entries(close).map(([name, closer]) =>
          drainStep({ step: "close", name }, limitsMs.close, closer),
        ),
      )),
    );
    return {
      // Runs that didn't end by themselves have been aborted, which is a step of its own.
      ok: steps.every(({ step, outcome }) => outcome === "done" || (step === "runs" && outcome === "late")),
      ms: Math.round(performance.now() - beganMs),
      runs: { ended: before - unended, aborted: unended - left.length, left: left.slice(0, mostNamed) },
      steps,
    };
  }
}

/**
 * Counts the runs of a process, so that it can be shut down without losing one.
 * @throws InvalidOptionError
 */
export function createService(saver: ServedSaver, options: ServiceOptions = {}): Service {
  return new Service(saver, options);
}

/** Whether a tier makes copies that can be waited for: a stack. */
function makesCopies(tier: Tier): tier is Tier & { idle(): Promise<void> } {
  return typeof (tier as { idle?: unknown }).idle === "function";
}
