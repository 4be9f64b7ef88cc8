import type { CheckpointRecord, ListQuery } from "./tier.ts";

/** Whether a record meets all conditions of a {@link ListQuery}; its thread and the query's limit are not looked at. */
export function isListed(record: Omit<CheckpointRecord, "threadId" | "body">, query: ListQuery): boolean {
  return (
    (query.namespace === undefined || record.namespace === query.namespace) &&
    (query.checkpointId === undefined || record.checkpointId === query.checkpointId) &&
    (query.before === undefined || record.checkpointId < query.before) &&
    (query.terms === undefined || query.terms.every((term) => record.terms.includes(term))) &&
    (query.runIds === undefined || (record.runId !== undefined && query.runIds.includes(record.runId))) &&
    (query.lost !== true || record.lostTo !== undefined)
  );
}
