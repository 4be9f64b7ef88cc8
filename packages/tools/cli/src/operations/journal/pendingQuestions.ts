import { INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { taskStates } from "@stratigraph/core/internal";
import type { Question } from "@stratigraph/journal";
import { questionIn } from "@stratigraph/journal/internal";
import { openRecord } from "../read/records.ts";
import { jsonOf } from "../values/view.ts";

/** A question of the journal that has stopped a graph. */
export interface PendingQuestion {
  readonly question: Question;
  /** LangGraph's id of the interrupt. */
  readonly interrupt: string | undefined;
  /** The head, whose pending writes hold it. */
  readonly checkpoint: string;
  /** Whether an answer was stored, which the run will take when it goes on. */
  readonly isAnswered: boolean;
}

/** The questions of the journal at the head of a thread, except those of tasks that have ended. */
export async function pendingQuestions(saver: TierSaver, threadId: string): Promise<PendingQuestion[]> {
  const { head } = await saver.tier.peek({ threadId, namespace: "" });
  if (head === undefined) return [];
  const query = { threadId, namespace: "", checkpointId: head, limit: 1 };
  for await (const listed of saver.tier.list({ ...query, recordsOnly: true })) {
    // Values are read only if there is a question.
    const { record, writes } = await openRecord(saver, listed);
    const pending = await saver.coder.writes.unrevived(record, writes);
    const { outcomes } = await taskStates(saver, { record, writes });
    const questions = pending.filter(
      ({ channel, taskId }) => channel === INTERRUPT && outcomes.get(taskId) !== "ended",
    );
    if (questions.length === 0) return [];
    for await (const { blobs } of saver.tier.list(query)) {
      const json = async ({ channel, value }: (typeof pending)[number]): Promise<unknown> =>
        jsonOf(await saver.coder.serialized(record, channel, value, blobs))?.value;
      const answered = new Set<unknown>();
      for (const write of pending.filter(({ channel }) => channel === RESUME))
        for (const answer of listOf(await json(write))) answered.add((Object(answer) as { id?: unknown }).id);
      const asked = new Map<string, Pick<PendingQuestion, "question" | "interrupt">>();
      for (const write of questions)
        for (const interrupt of listOf(await json(write))) {
          const { id, value } = Object(interrupt) as { id?: string; value?: unknown };
          const question = questionIn(value);
          if (question !== undefined) asked.set(question.id, { question, interrupt: id });
        }
      return [...asked.values()].map(({ question, interrupt }) => ({
        question,
        interrupt,
        checkpoint: head,
        isAnswered: answered.has(question.id),
      }));
    }
  }
  return [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}
