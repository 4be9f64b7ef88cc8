import { StratigraphError } from "@stratigraph/core";
import type { CallState } from "./log/callState.ts";
import type { Where } from "./log/entry.ts";

/** Nobody can know whether a call happened. `data`: threadId, fingerprint, tool, where; `error`: what it threw, if that is recorded. */
export class AmbiguousOutcomeError extends StratigraphError {
  /** As in HTTP 409: LangGraph's default retry policy doesn't repeat a node after it. */
  readonly status = 409;

  /**
   * @param why "held": the process that makes the call, or couldn't record its outcome, is alive. "earlier": it is a call of an earlier
   * turn, which had to be repeated before an equal one could be made
   */
  constructor(
    threadId: string,
    { call, tool, where, error, claim }: CallState,
    why?: "held" | "earlier",
    cause?: unknown,
  ) {
    const how =
      why === "held"
        ? "is still being made by another process, or that process couldn't record its outcome"
        : error === undefined
          ? "began and its outcome was never recorded"
          : `ended with an error that doesn't tell whether it happened (${error.name}: ${error.message})`;
    const first =
      why === "held"
        ? "It isn't repeated. Make it again later for its result, or wait longer (option waitFor). Once that process has ended, find"
        : why === "earlier"
          ? `It was asked for in an earlier turn, and was repeated now with its key (${claim?.at}), in vain. The new call, an equal one, wasn't made: make that again later, or find`
          : "It isn't repeated. Find";
    super(
      "AMBIGUOUS_OUTCOME",
      `A call of ${JSON.stringify(tool)} ${how}, so it may have happened. ${first} out ` +
        `whether it did, and record it: journal.resolve(${JSON.stringify(call)}, { threadId: ${JSON.stringify(threadId)}, happened: … }); or ` +
        `pass a reconcile function for the tool.`,
      { threadId, fingerprint: call, tool, where, ...(error === undefined ? {} : { error }) },
      cause,
    );
    this.name = "AmbiguousOutcomeError";
  }
}

/** The policy, or a person, refused a call. `data`: threadId, tool, reason. */
export class CallDeniedError extends StratigraphError {
  /** As in HTTP 403. */
  readonly status = 403;

  constructor(threadId: string, tool: string, reason: string) {
    super("CALL_DENIED", `The call of ${JSON.stringify(tool)} was denied: ${reason}`, {
      threadId,
      tool,
      reason,
    });
    this.name = "CallDeniedError";
  }
}

/** Two tasks of one step make calls that can't be told apart. */
export function duplicateCall(threadId: string, { call, tool, where }: CallState): StratigraphError {
  return new StratigraphError(
    "DUPLICATE_CALL",
    `Two tasks of one step, or two runs of one subgraph, call ${JSON.stringify(tool)} with equal arguments, so the journal can't tell whether ` +
      `one is a repetition of the other. Give each a name of its own: configurable.callScope, or a field callScope in the Send's input. ` +
      "In a run that has begun, name only the one that was refused: calls of a newly named task count as new.",
    { threadId, fingerprint: call, tool, where },
  );
}

/** A node made an equal call in a step that was ended only by edits of the state. */
export function endedOrRenamed(threadId: string, { call, tool, where }: CallState): StratigraphError {
  return new StratigraphError(
    "DUPLICATE_CALL",
    `The node ${JSON.stringify(where.node ?? "")} called ${JSON.stringify(tool)} with equal arguments, and an edit of the state has ended its step since. ` +
      "Nothing tells whether this is the same call, of a node that was renamed, or another one. If it is another one, give it an id of its own. " +
      "If it is the same, continue from the checkpoint before the edit.",
    { threadId, fingerprint: call, tool, where },
  );
}

/**
 * The state of a graph doesn't show the place of a model's call in the chain. `data`: threadId, tool, part.
 * @param part what is missing: the state's channel, or its data about the message that asks for the call
 * @param isInGraph whether a graph makes the call; code outside one has only the state that it passes
 */
export function notWired(
  threadId: string,
  tool: string,
  part: "channel" | "next",
  isInGraph: boolean,
): StratigraphError {
  const wiring =
    part === "channel"
      ? "The graph's state has no chain of calls. Add ...journal.channel to the graph's state, and return ...journal.next(state, message) " +
        "from the node that asks the model; with createAgent, middleware: [journalMiddleware(journal)]."
      : isInGraph
        ? "The graph's state has the journal's channel, but the message that asks for the call isn't in its chain. Return " +
          "...journal.next(state, message) along with the message, from each node that adds a message with calls. For one that a person " +
          "adds: graph.updateState(config, { messages: [message], ...journal.next(state, message) })."
        : "The state that the tool node is called with has no chain of calls. Keep ...journal.next(state, message) of each message " +
          "in that state.";
  return new StratigraphError(
    "NOT_WIRED",
    `The call of ${JSON.stringify(tool)} couldn't be distinguished from an equal one of another turn, so it didn't run. ${wiring}`,
    { threadId, tool, part },
  );
}

/** One attempt of a task, or code outside a graph, makes two calls of one name with different arguments. */
export function sameName(
  threadId: string,
  { tool, call }: { tool: string; call?: string },
): StratigraphError {
  return new StratigraphError(
    "DUPLICATE_CALL",
    `Two calls of ${JSON.stringify(tool)} in one task, of one thread outside its graph, or of an MCP client, have the same id and different ` +
      `arguments. An id (of an MCP client: the name of its call) names one call, and a repetition gets that call's result: give each call an ` +
      `id of its own, such as \`charge \${order}\`.`,
    { threadId, tool, ...(call === undefined ? {} : { fingerprint: call }) },
  );
}

/** A tool that isn't the journal's own makes a call twice, and its config doesn't say for which call of the message it runs. */
export function unknownAsker(threadId: string, tool: string): StratigraphError {
  return new StratigraphError(
    "DUPLICATE_CALL",
    `A message asks for several calls, and two calls of ${JSON.stringify(tool)} with one id are made for it: nothing tells for which of ` +
      `them each is. Pass on the whole config that the tool is given: journal.run(config, …), tool.invoke(input, config).`,
    { threadId, tool },
  );
}

/** A call happened, and its result isn't kept. @param why of its result */
export function resultNotKept(
  threadId: string,
  { call, tool, where }: CallState,
  why = "",
): StratigraphError {
  return new StratigraphError(
    "RESULT_NOT_KEPT",
    `A call of ${JSON.stringify(tool)} happened, and its result isn't kept: ${why}. The call isn't made again, and neither is an equal one, until ` +
      `a person gives the result: journal.resolve(${JSON.stringify(call)}, { threadId: ${JSON.stringify(threadId)}, happened: true, result }).`,
    { threadId, fingerprint: call, tool, where, why },
  );
}

/** The checkpoint that issued a call can't become durable before the call. */
export function notDurable(
  threadId: string,
  tool: string,
  where: Where,
  why: string,
  cause?: unknown,
): StratigraphError {
  return new StratigraphError(
    "NOT_DURABLE",
    `The call of ${JSON.stringify(tool)} may not run: ${why}. After a crash nobody would know that the model had asked for it, and it ` +
      `would be asked again. Use durability "sync" or "async" and a checkpointer, or declare effects: "none".`,
    { threadId, tool, where },
    cause,
  );
}

/** A requested answer didn't arrive in time. */
export function tookLonger(ms: number): Error {
  return new Error(`it took longer than ${ms} ms`);
}

/** A call is being made, so nothing else can be done about it now. @param why who makes it, and what to do */
export function stillRuns(
  threadId: string,
  { call, tool }: Pick<CallState, "call" | "tool">,
  why: string,
): StratigraphError {
  return new StratigraphError("LOCKED", `A call of ${JSON.stringify(tool)} is being made ${why}`, {
    threadId,
    fingerprint: call,
    tool,
  });
}

/** A journal isn't as it was written: it is damaged. @param seq number of the first wrong entry */
export function journalBroken(threadId: string, seq: number, why: string): StratigraphError {
  return new StratigraphError(
    "JOURNAL_BROKEN",
    `The journal of thread ${JSON.stringify(threadId)} is damaged at entry ${seq}: ${why}. No call runs, and no result is given, until the thread is restored from a backup. journal.verify() tells more.`,
    { threadId, seq, why },
  );
}

/** An error in the form in which entries store it. Anything can be thrown, even a value that can't be converted to text. */
export function keptError(error: unknown): { name: string; message: string } {
  try {
    const { name = "Error", message = String(error) } = Object(error) as {
      name?: unknown;
      message?: unknown;
    };
    return {
      name: String(name).toWellFormed().slice(0, 200),
      message: String(message).toWellFormed().slice(0, 2000),
    };
  } catch {
    return { name: "Error", message: "what was thrown can't be shown as text" };
  }
}
