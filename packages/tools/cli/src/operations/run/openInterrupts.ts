import { INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import { readPoint } from "@stratigraph/branch/internal";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { taskStates } from "@stratigraph/core/internal";
import type { StateLike, TaskSnapshot } from "./runnableGraph.ts";

/** A question of a task that waits for an answer. */
export interface OpenInterrupt {
  /**
   * Names the question. It is LangGraph's id, which before LangGraph 1.7 all questions of a task have in common: "#" and how many answers
   * came before tell them apart then.
   */
  readonly id: string;
  /** LangGraph's id of it. */
  readonly interrupt: string;
  readonly node: string;
  readonly value: unknown;
  /** JSON Schema of its answer, from LangGraph 1.5 on; absent where the node gave none. */
  readonly schema?: unknown;
}

/**
 * The questions that wait at a state. LangGraph lists those of a task that was answered and has ended, too, and leaves a task out of `next` that
 * asks its second question: its pending writes tell the two apart.
 */
export async function openInterrupts(saver: TierSaver, state: StateLike): Promise<OpenInterrupt[]> {
  const asking = state.tasks.filter(
    ({ interrupts, result }) => interrupts.length > 0 && result === undefined,
  );
  if (asking.length === 0) return [];
  const pending = await pendingAt(saver, state);
  return asking
    .filter((task) => pending?.waits(task) ?? state.next.includes(task.name))
    .flatMap((task) =>
      task.interrupts.map(({ id = "", value, response_schema: schema }) => ({
        id: pending?.named(task, id) ?? id,
        interrupt: id,
        node: task.name,
        value,
        ...(schema === undefined ? {} : { schema }),
      })),
    );
}

/** What a checkpoint's pending writes say of its questions. */
interface Pending {
  waits(task: TaskSnapshot): boolean;
  named(task: TaskSnapshot, interrupt: string): string;
}

/** Undefined if the state isn't in this storage: that of a rehearsal isn't. */
async function pendingAt(saver: TierSaver, { config }: StateLike): Promise<Pending | undefined> {
  const { thread_id, checkpoint_ns, checkpoint_id } = config?.configurable ?? {};
  if (typeof thread_id !== "string" || typeof checkpoint_id !== "string") return undefined;
  const at = { threadId: thread_id, namespace: String(checkpoint_ns ?? ""), checkpointId: checkpoint_id };
  try {
    const { waiting } = await taskStates(saver, (await readPoint(saver, at)).stored);
    const writes = (await saver.getTuple(config!))?.pendingWrites ?? [];
    const written = (by: string, to: string) =>
      writes.flatMap(([task, channel, value]) => (task === by && channel === to ? [value] : []));
    /** The answers that are stored under the id of a task or of a question. */
    const answers = (by: string): readonly unknown[] => written(by, RESUME).flat();
    return {
      waits: (task) => waiting.has(task.id),
      named: ({ id: task, state: inner }, id) => {
        // LangGraph 1.7 writes a list, and since then each question has an id of its own.
        if (written(task, INTERRUPT).every((value) => Array.isArray(value))) return id;
        // A subgraph's task doesn't store what was taken: there each answer counts.
        const before = answers(inner === undefined ? task : id).length;
        return before === 0 ? id : `${id}#${before}`;
      },
    };
  } catch (error) {
    if (StratigraphError.is(error, "NOT_FOUND")) return undefined;
    throw error;
  }
}
