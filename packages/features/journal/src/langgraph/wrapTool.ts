import { givenResult, type KeptMessage, type ReturnedResult } from "../calls/results.ts";
import type { CallOutcome } from "../calls/plannedCall.ts";
import { askingMessage } from "./chain.ts";
import { loadToolMessage, refusesArguments } from "./langgraph.ts";
import { standIn } from "./standIn.ts";
import { taskOf, toolCallIdOf } from "./taskConfig.ts";
import { throwAgain } from "./throwAgain.ts";

/** What a wrapped tool must have. Tools of langchain and of MCP adapters have it. */
export interface ToolLike {
  readonly name: string;
  /** The adapters of MCP put the server's annotations there. */
  readonly metadata?: unknown;
  invoke(input: never, config?: never): Promise<unknown>;
}

/** Makes a call of a tool, with the tool's arguments and config. */
export type CallTool = (
  call: {
    readonly tool: string;
    readonly args: unknown;
    /** Whether a message asks for it, so that a message answers it. */
    readonly isAsked: boolean;
    readonly toolCallId: string | undefined;
    /** Whether an error says that the tool rejected its arguments, and so didn't act. */
    readonly refused: (error: unknown) => Promise<boolean>;
  },
  config: unknown,
  work: (args: unknown, config: unknown) => Promise<unknown>,
) => Promise<CallOutcome | RefusedCall>;

/** A model's call that can't be made: the model is told why. */
export interface RefusedCall {
  readonly kind: "refused";
  readonly reason: string;
}

/**
 * A tool that is called through the journal. It has the tool's class, schema and name, but its own `invoke`. That is the innermost place:
 * arguments are final there, and every retry passes through it.
 */
export function wrapTool<T extends ToolLike>(tool: T, call: CallTool): T {
  const invoke = async (input: unknown, config?: unknown): Promise<unknown> => {
    const toolCallId = toolCallIdOf(input, config);
    const asked = Object(input) as { type?: unknown; args?: unknown };
    const isCall = asked.type === "tool_call";
    const args = isCall ? asked.args : input;
    const refused = (error: unknown): Promise<boolean> => refusesArguments(tool, args, error);
    const outcome = await call(
      { tool: tool.name, args, isAsked: isCall, toolCallId, refused },
      config,
      // The tool gets the checked arguments: the caller's own may have changed since.
      (looked, within) =>
        tool.invoke((isCall ? { ...asked, args: looked } : looked) as never, within as never),
    );
    if (outcome.kind === "ran") return outcome.value;
    // Code that calls a tool with bare arguments gets its content; a call of a model gets a message.
    const answersTo = isCall ? toolCallId : undefined;
    const kept = outcome.kind === "recorded" ? outcome.result : refusal(tool.name, outcome);
    const task = taskOf(config);
    const give = await giverTo(answersTo, askingMessage(task, answersTo));
    return kept.kind === "thrown" ? await throwAgain(kept, task, give) : give(kept);
  };
  // langchain's tools have call(), the predecessor of invoke(), which would bypass the journal.
  const made = standIn(tool, { invoke, ...("call" in tool ? { call: invoke } : {}) });
  wrapped.add(made);
  return made;
}

const wrapped = new WeakSet<object>();

/** Whether a tool already goes through a journal: the inner call would wait for the outer one. */
export function isWrapped(tool: object): boolean {
  return wrapped.has(tool);
}

/** The message to a model about a call that was denied or refused. */
function refusal(
  name: string,
  { kind, reason }: RefusedCall | Extract<CallOutcome, { kind: "denied" }>,
): ReturnedResult {
  const content = kind === "denied" ? `Denied: ${reason}` : reason;
  return { kind: "message", message: { content, status: "error", name } };
}

/** Adapts results to the call that asks now. */
async function giverTo(
  toolCallId: string | undefined,
  asking: unknown,
): Promise<(kept: ReturnedResult) => unknown> {
  const ToolMessage = await loadToolMessage();
  const make = (
    { content, name, status, artifact, additional_kwargs, response_metadata, metadata }: KeptMessage,
    id: string,
  ): unknown =>
    new ToolMessage(
      Object.fromEntries(
        Object.entries({
          content,
          name,
          status,
          artifact,
          additional_kwargs,
          response_metadata,
          metadata,
          tool_call_id: id,
        }).filter(([, field]) => field !== undefined),
      ),
    );
  return (kept) => givenResult(kept, toolCallId, make, asking);
}
