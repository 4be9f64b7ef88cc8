import type { GetPromptResult, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Context } from "../operations/index.ts";
import { audited, contextOf, type ToolHost } from "./calls.ts";
import { refuseForeignThreads } from "./clients.ts";
import { withProtocolErrors } from "./results.ts";
import { runNamed } from "./runNamed.ts";
import { uriOf } from "./uris.ts";

/** How much of the facts a prompt contains, in bytes. */
const factBytes = 16_000;

const thread = z.string().describe("The id of a thread.");
const at = z
  .string()
  .describe("A thread, or one of its checkpoints: ada, ada@head~3, ada@step:12, ada@1ef4f79.");

/** A prompt: what it is for, and what a model is told. */
interface Described<A extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly args: A;
  /** The facts, as they are now, and the sentences that go with them. */
  facts(
    given: z.output<A>,
    context: Context,
  ): Promise<{
    readonly task: string;
    readonly facts: Readonly<Record<string, unknown>>;
    readonly about: string;
  }>;
}

const failed: Described<z.ZodObject<{ thread: typeof thread }>> = {
  title: "Why did this run fail",
  description:
    "Find out why the last run of a thread failed or stopped, from its state, its writes and its tool calls.",
  args: z.object({ thread }),
  facts: async (given, context) => {
    const [state, writes, calls, questions] = await Promise.all([
      runNamed("show", { at: given.thread, maxBytes: factBytes }, context),
      runNamed("writes", { at: given.thread, maxBytes: factBytes }, context),
      runNamed("calls", { thread: given.thread, limit: 10, order: "newest", maxBytes: factBytes }, context),
      runNamed("questions", { thread: given.thread }, context),
    ]);
    return {
      about: given.thread,
      task: `Why did the last run of thread ${JSON.stringify(given.thread)} fail or stop? Name the node, the cause, and the first checkpoint at which something was wrong: look back with the tools history, diff, blame and why. Tell facts from guesses. Then say what to do: wait for an answer, run it again, or try a change in a what-if.`,
      facts: { state, writes, calls: calls.items, questions: questions.items },
    };
  },
};

const compare: Described<z.ZodObject<{ from: typeof at; to: typeof at }>> = {
  title: "Compare two branches",
  description:
    "Compare two threads or checkpoints: what differs, since when, why, and which one to go on with.",
  args: z.object({ from: at, to: at }),
  facts: async ({ from, to }, context) => ({
    about: to,
    task: `Compare ${JSON.stringify(from)} with ${JSON.stringify(to)}. Say what differs and where the two part, what caused it (tools history, blame, why), and which one to go on with. If both have something worth keeping, plan a merge with the tool merge and dryRun.`,
    facts: { differences: await runNamed("diff", { from, to, maxBytes: factBytes }, context) },
  }),
};

const question = z.string().describe("What to find out: what if the budget had been 500?");

const whatIf: Described<z.ZodObject<{ thread: typeof thread; question: typeof question }>> = {
  title: "Prepare a what-if",
  description: "Find the checkpoint to branch from and the value to change, to see what would have happened.",
  args: z.object({ thread, question }),
  facts: async (given, context) => {
    const [history, state] = await Promise.all([
      runNamed("history", { thread: given.thread, limit: 20 }, context),
      runNamed("show", { at: given.thread, maxBytes: factBytes }, context),
    ]);
    const steps = history.items.map(({ checkpoint, step, nodes, head }) => ({
      checkpoint,
      step,
      nodes,
      head,
    }));
    return {
      about: given.thread,
      task: `Prepare a what-if on thread ${JSON.stringify(given.thread)}: ${given.question} Find the checkpoint to branch from and the one value to change. Show it first: the tool fork with whatIf, channel, path, value and dryRun. The thread itself stays as it is, and recorded calls aren't made again. Go on with fork and run only when the person agrees.`,
      facts: { steps, state },
    };
  },
};

/** Offers the three prompts. */
export function addPrompts(server: McpServer, host: ToolHost): void {
  add(server, host, "why_did_this_run_fail", failed);
  add(server, host, "compare_two_branches", compare);
  add(server, host, "prepare_a_what_if", whatIf);
}

function add<A extends z.ZodObject>(
  server: McpServer,
  host: ToolHost,
  name: string,
  prompt: Described<A>,
): void {
  const { title, description, args, facts } = prompt;
  server.registerPrompt(
    name,
    { title, description, argsSchema: args as z.ZodObject },
    async (input, { mcpReq }) =>
      withProtocolErrors(host, () =>
        audited(host, host.client, `prompt ${name}`, input, mcpReq.signal, async (signal) => {
          refuseForeignThreads(host.client, input);
          const found = await facts(input as z.output<A>, contextOf(host, signal));
          return { result: messages(description, found), outcome: "ok" };
        }),
      ),
  );
}

function messages(
  description: string,
  { task, facts, about }: { readonly task: string; readonly facts: object; readonly about: string },
): GetPromptResult {
  const uri = uriOf({ kind: "thread", thread: about });
  return {
    description,
    messages: [
      { role: "user", content: { type: "text", text: task } },
      {
        role: "user",
        content: {
          type: "resource",
          resource: { uri, mimeType: "application/json", text: JSON.stringify(facts) },
        },
      },
    ],
  };
}
