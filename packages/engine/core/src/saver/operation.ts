import type { RunnableConfig } from "@langchain/core/runnables";
import { StratigraphError } from "../contract/errors.ts";
import { Observation, type OperationObservation } from "../contract/observation.ts";
import type { TraceEvent } from "../contract/trace.ts";

/** What an operation notes about itself, for the event at its end. */
export type Notes = {
  -readonly [K in "checkpointId" | "outcome" | "step" | "bytes" | "from"]?: Extract<
    TraceEvent,
    { readonly type: "operation" }
  >[K];
};

/** What an operation is about. */
interface About {
  readonly threadId?: string | undefined;
  readonly namespace?: string | undefined;
}

/**
 * Does the work of one of a saver's methods, and reports its beginning and its end to those who watch.
 * @param work gets an object for its notes; undefined if nobody watches
 */
export async function operation<T>(
  method: string,
  about: About,
  work: (notes: Notes | undefined) => Promise<T>,
): Promise<T> {
  const observation = observe(method, about);
  if (observation === undefined) return await work(undefined);
  const notes: Notes = {};
  return await observation.run(
    () => work(notes),
    (end) =>
      "answer" in end
        ? { outcome: "ok", ...notes }
        : { ...notes, outcome: failure(end.error), error: end.error },
  );
}

/** As {@link operation}, for a listing. What its consumer does between two items isn't part of it. */
export async function* listing<T>(
  method: string,
  about: About,
  items: (notes: Notes | undefined) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const observation = observe(method, about);
  if (observation === undefined) return yield* items(undefined);
  const notes: Notes = {};
  yield* observation.iterate(items(notes)[Symbol.asyncIterator](), ({ error }) => ({
    ...notes,
    outcome: error === undefined ? "ok" : failure(error),
    error,
  }));
}

/** What a config names, as far as that is known before it is checked. */
export function aboutConfig(config: RunnableConfig | undefined): About {
  const { thread_id: threadId, checkpoint_ns: namespace } = config?.configurable ?? {};
  return {
    ...(typeof threadId === "string" || Number.isSafeInteger(threadId) ? { threadId: String(threadId) } : {}),
    ...(typeof namespace === "string" ? { namespace } : {}),
  };
}

function observe(method: string, about: About): OperationObservation | undefined {
  return Observation.of({ type: "operation-start", method, ...about });
}

function failure(error: unknown): "conflict" | "failed" {
  return StratigraphError.is(error, "CHECKPOINT_CONFLICT") ? "conflict" : "failed";
}
