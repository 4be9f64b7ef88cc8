import { createPrompts, type PromptVersion } from "@stratigraph/workspace/prompts";
import { z } from "zod";
import { table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction, redactedText } from "../values/redaction.ts";
import { clipped } from "../values/text.ts";
import { existingWorkspace } from "./openWorkspace.ts";
import { byText, shownChange } from "./shownChange.ts";
import { workspaceFields } from "./workspaceFields.ts";

/** How much of a feedback is shown, in characters. */
const longestFeedback = 500;

const count = z.number().int();

const shownVersion = z.object({
  prompt: z.string(),
  version: z.string(),
  isCurrent: z.boolean(),
  parent: z.string().optional(),
  author: shownChange.shape.author,
  at: z.string().describe("ISO 8601."),
  variables: z.array(z.string()),
  feedback: z
    .array(z.string())
    .describe("What was said of the parent, and led to this version. What is long is cut."),
  metrics: z
    .object({
      runs: count,
      succeeded: count,
      failed: count,
      waiting: count,
      unfinished: count,
      success: z.number().optional().describe("The share of runs that succeeded, 0 to 1."),
      tokens: z.object({ input: z.number(), output: z.number(), total: z.number() }),
      satisfaction: z.number().optional().describe("The mean score, 0 to 1."),
      ratings: count,
    })
    .optional()
    .describe("What became of the runs that used it. Absent if no prompt is named."),
});

/** Lists prompts, or the versions of one. */
export const workspacePrompts = operation({
  name: "workspace-prompts",
  group: "look",
  effect: "read",
  summary:
    "List the prompts of a workspace, or the versions of one with their runs' success, tokens and satisfaction.",
  args: ["workspace", "prompt"],
  examples: ["stratigraph workspace prompts trip", "stratigraph workspace prompts trip answer"],
  input: z.object({
    workspace: workspaceFields.workspace,
    prompt: z
      .string()
      .min(1)
      .optional()
      .describe("The name of a prompt. Default: all, with their current versions."),
    limit: fields.limit.describe("How many at most, up to 1000: of a prompt's versions the newest."),
  }),
  output: z.object({
    workspace: z.string(),
    prompt: z
      .string()
      .optional()
      .describe("The prompt whose versions these are. Absent: they are of several."),
    total: count.describe("How many there are, those that aren't listed included."),
    items: z.array(shownVersion),
  }),
  async run({ workspace, prompt, limit }, context) {
    const { workspace: opened, saver } = await existingWorkspace(context, workspace);
    const prompts = createPrompts(opened, { checkpointer: saver });
    const isRedacted = new Redaction(context.redact).isActive;
    const shown = (version: PromptVersion, isCurrent: boolean) => ({
      prompt: version.name,
      version: version.version,
      isCurrent,
      ...(version.parent !== undefined && { parent: version.parent }),
      author: version.author,
      at: version.createdAt.toISOString(),
      variables: [...version.variables],
      // As reasons, it may repeat values of redacted fields.
      feedback: version.feedback.map((text) => (isRedacted ? redactedText : clipped(text, longestFeedback))),
    });
    if (prompt === undefined) {
      const found = await prompts.list();
      return {
        workspace,
        total: found.length,
        items: found.slice(0, limit).map((each) => shown(each, true)),
      };
    }
    const reports = (await prompts.report(prompt, { limit })).reverse();
    return {
      workspace,
      prompt,
      // Versions are numbered.
      total: Number(reports[0]?.version.version ?? 0),
      items: reports.map(({ version, isCurrent, ...metrics }) => ({ ...shown(version, isCurrent), metrics })),
    };
  },
  *render({ prompt, total, items }) {
    const now = Date.now();
    const rows = items.map(
      ({ prompt: name, version, isCurrent, parent = "", author, at, feedback, metrics }) => [
        ...(prompt === undefined ? [name] : []),
        `${version}${isCurrent && prompt !== undefined ? " *" : ""}`,
        parent,
        `${timeText(now - Date.parse(at))} ago`,
        byText(author),
        ...(metrics === undefined
          ? []
          : [
              String(metrics.runs),
              share(metrics.success),
              String(metrics.tokens.total),
              share(metrics.satisfaction),
            ]),
        clipped(feedback.join("; "), 60),
      ],
    );
    const counted = prompt === undefined ? [] : [">RUNS", ">SUCCESS", ">TOKENS", ">SATISFACTION"];
    if (items.length === 0) yield "No prompts.";
    else
      yield* table(
        [
          ...(prompt === undefined ? ["PROMPT"] : []),
          "VERSION",
          "PARENT",
          ">ADDED",
          "BY",
          ...counted,
          "FEEDBACK",
        ],
        rows,
      );
    if (total > items.length) yield `${items.length} of ${total}. More with --limit`;
  },
});

function share(part: number | undefined): string {
  return part === undefined ? "" : `${Math.round(part * 100)} %`;
}
