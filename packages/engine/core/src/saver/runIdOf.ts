import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/** The run that a call belongs to, if the caller named one. */
export function runIdOf(config: RunnableConfig, metadata?: CheckpointMetadata): string | undefined {
  const named: unknown =
    (metadata as { run_id?: unknown } | undefined)?.run_id ?? config.metadata?.["run_id"];
  return typeof named === "string" && named !== "" ? named : undefined;
}
