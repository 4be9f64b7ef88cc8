import { errorOf, type ToldError } from "./errorOf.ts";
import type { Write } from "./shown.ts";

/** A task with an error. */
interface Failure extends ToldError {
  readonly task: string;
  /** The name of its node, or the beginning of its id. */
  readonly who: string;
}

/** Failed tasks of a step, and tasks that LangGraph stopped because of them. LangGraph writes an AbortError for finished tasks, too. */
export function failuresOf(writes: readonly Pick<Write, "node" | "task" | "outcome" | "kind" | "value">[]): {
  readonly reasons: readonly Failure[];
  readonly stopped: readonly Failure[];
} {
  const all = writes
    .filter(({ kind, outcome }) => kind === "error" && outcome !== "done")
    .map(({ node, task, value }) => ({ task, who: node ?? task.slice(0, 8), ...errorOf(value) }));
  const aborted = all.filter(({ name }) => name === "AbortError");
  if (aborted.length === all.length) return { reasons: all, stopped: [] };
  return {
    reasons: all.filter((each) => !aborted.includes(each)),
    stopped: aborted,
  };
}
