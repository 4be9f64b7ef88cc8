import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError } from "../contract/errors.ts";

/**
 * Keys of a run's `config.metadata` that begin so are stored with its checkpoints, where filters find them. Of the rest, which LangGraph.js
 * doesn't store, so is the name of the graph.
 */
export const runMetadataPrefix = "stratigraph:";

/** Longest value, in UTF-16 units: each checkpoint of the run has it. */
const longest = 1024;

/** Names the graph of a thread, in `metadata` or `configurable`, as LangGraph's servers do. */
const graphKey = "graph_id";

/** The metadata of a checkpoint, with what its run's config says for it. @throws InvalidOptionError */
export function withRunMetadata<Metadata extends CheckpointMetadata>(
  config: RunnableConfig,
  metadata: Metadata,
): Metadata {
  const { metadata: ofRun, configurable } = config;
  const graph: unknown = ofRun?.[graphKey] ?? configurable?.[graphKey];
  let found: Record<string, string> | undefined =
    typeof graph === "string" && graph.length <= longest ? { [graphKey]: graph } : undefined;
  for (const key in ofRun) {
    if (!key.startsWith(runMetadataPrefix)) continue;
    const value: unknown = ofRun[key];
    if (typeof value !== "string" || value.length > longest)
      throw new InvalidOptionError(
        `metadata[${JSON.stringify(key)}]`,
        typeof value === "string" ? `${value.length} characters` : typeof value,
        `Keys that begin with "${runMetadataPrefix}" are stored with checkpoints: pass text of ${longest} characters at most.`,
      );
    (found ??= {})[key] = value;
  }
  return found === undefined ? metadata : { ...metadata, ...found };
}
