import type { RunControl } from "@langchain/langgraph";
import { DrainingError } from "../errors.ts";
import { createControl } from "./control.ts";

/** A run that was let in. */
export interface Run {
  readonly threadId: string;
  /**
   * Fires when the service can't wait for the run any longer (reason: {@link DrainingError}). Pass it to the graph, which then ends
   * after what it stored last: `graph.invoke(input, { ...config, signal })`.
   */
  readonly signal: AbortSignal;
  /**
   * Asks the graph at the beginning of a shutdown to end after the step that it is in, with its checkpoint stored: LangGraph's `RunControl`.
   * Pass it beside the signal: `graph.invoke(input, { ...config, signal, control })`. The graph then throws LangGraph's `GraphDrained`, and
   * goes on there when it is started again with null.
   */
  readonly control: RunControl;
  /** Says that it has ended, well or not. May be called again. */
  end(): void;
}

interface RunUnderWay {
  readonly threadId: string;
  readonly controller: AbortController;
  readonly control: RunControl;
}

/** The runs under way in this process. */
export class Runs {
  readonly #underWay = new Set<RunUnderWay>();
  readonly #idle: (() => void)[] = [];
  #closed = false;

  /** How many runs are under way. */
  get count(): number {
    return this.#underWay.size;
  }

  /** Threads of the runs under way, one each. */
  get threadIds(): string[] {
    return [...this.#underWay].map(({ threadId }) => threadId);
  }

  /** Asks all runs under way to end after the step that they are in. */
  requestDrain(): void {
    for (const { control } of this.#underWay) control.requestDrain();
  }

  /** Refuses runs from now on. */
  close(): void {
    this.#closed = true;
  }

  /** Lets a run in. @throws DrainingError after {@link close} */
  begin(threadId: string): Run {
    if (this.#closed) throw new DrainingError(threadId, false);
    const run: RunUnderWay = {
      threadId,
      controller: new AbortController(),
      control: createControl(),
    };
    this.#underWay.add(run);
    return {
      threadId,
      signal: run.controller.signal,
      control: run.control,
      end: () => {
        if (this.#underWay.delete(run) && this.#underWay.size === 0)
          for (const resolve of this.#idle.splice(0)) resolve();
      },
    };
  }

  /** Fires the signals of all runs under way. */
  abort(): void {
    for (const { threadId, controller } of this.#underWay)
      controller.abort(new DrainingError(threadId, true));
  }

  /** Resolves when none is under way. */
  async idle(): Promise<void> {
    if (this.#underWay.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}
