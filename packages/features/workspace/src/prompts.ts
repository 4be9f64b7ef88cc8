import type { TierSaver } from "@stratigraph/core";
import { InvalidOptionError } from "@stratigraph/core";
import { checkedLabels, checkOptions, kindOf } from "@stratigraph/core/internal";
import { Prompts, type PromptRoom, type PromptsOptions } from "./prompts/prompts.ts";

export type { PromptMetrics } from "./prompts/metrics.ts";
export type {
  NewPrompt,
  PromotePromptOptions,
  PromptComparison,
  PromptFeedback,
  PromptReport,
  Prompts,
  PromptsOptions,
} from "./prompts/prompts.ts";
export type { PromptVersion } from "./prompts/promptVersion.ts";
export type { PromptTokens } from "./prompts/runTokens.ts";
export type { PromptMessage, PromptTemplate } from "./prompts/template.ts";
export type { TextChange } from "./prompts/textDiff.ts";

/**
 * Prompts with versions in a workspace: which one is current, what feedback led to each, and what became of the runs that used it.
 *
 * @example
 * const prompts = createPrompts(workspace, { checkpointer });
 * await prompts.add("answer", { template: "Answer {question}." });
 * const prompt = await prompts.get("answer");
 * await graph.invoke({ messages: [["system", prompt.render({ question })]] }, { ...config, metadata: prompt.metadata });
 * @param workspace of `createWorkspace`, or a role's part of it
 * @throws InvalidOptionError
 */
export function createPrompts(workspace: PromptRoom, options: PromptsOptions = {}): Prompts {
  if (typeof (Object(workspace) as Partial<PromptRoom>).transact !== "function")
    throw new InvalidOptionError("workspace", kindOf(workspace), "Pass what createWorkspace() returns.");
  checkOptions("createPrompts", options, { checkpointer: true, namespace: true });
  const { checkpointer, namespace = ["prompts"] } = options;
  if (checkpointer !== undefined && typeof (Object(checkpointer) as Partial<TierSaver>).tier !== "object")
    throw new InvalidOptionError("checkpointer", kindOf(checkpointer), "Pass a saver of Stratigraph.");
  return new Prompts(workspace, checkpointer, checkedLabels("namespace", namespace));
}
