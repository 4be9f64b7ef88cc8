import { errorOf, type ToldError } from "./errorOf.ts";
import type { Write } from "./shown.ts";

/** A task with an error. */
interface Failure extends ToldError {
  readonly task: string;
  /** The name of its node, or the beginning of its id. */
  readonly who: string;
}

/**
 * Failed tasks of a step, and tasks that LangGraph stopped because of them. LangGraph writes an AbortError for finished tasks, too:
 * these have writes of their own, and don't run again.
 */
export function failuresOf(writes: readonly Pick<Write, "node" | "task" | "kind" | "value">[]): {
  readonly reasons: readonly Failure[];
  readonly stopped: readonly Failure[];
} {
  const all = writes
    .filter(({ kind }) => kind === "error")
    .map(({ node, task, value }) => ({ task, who: node ?? task.slice(0, 8), ...errorOf(value) }));
  const finished = new Set(writes.filter(({ kind }) => kind === "write").map(({ task }) => task));
  const aborted = all.filter(({ name }) => name === "AbortError");
  if (aborted.length === all.length) return { reasons: all, stopped: [] };
  return {
    reasons: all.filter((each) => !aborted.includes(each)),
    stopped: aborted.filter(({ task }) => !finished.has(task)),
  };
}
