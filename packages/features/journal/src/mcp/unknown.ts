import { StratigraphError } from "@stratigraph/core";
import type { Digest } from "../identity/fingerprint.ts";
import type { McpJournal } from "./options.ts";
import { asResult, requestIn, textResult, type McpContext } from "./server.ts";

/** A call whose outcome or result is unknown, as the journal's error describes it. */
interface UnknownOutcome {
  readonly threadId: string;
  readonly fingerprint: Digest;
  readonly tool: string;
  /** Why the result of a call that happened isn't kept; undefined if nobody knows whether it happened. */
  readonly notKept?: string;
}

/** The call that an error says nobody knows about; undefined for other errors. */
export function unknownIn(error: unknown): UnknownOutcome | undefined {
  if (StratigraphError.is(error, "AMBIGUOUS_OUTCOME")) return error.data as unknown as UnknownOutcome;
  if (!StratigraphError.is(error, "RESULT_NOT_KEPT")) return undefined;
  const { why, ...lost } = error.data as unknown as UnknownOutcome & { readonly why: string };
  return { ...lost, notKept: why };
}

/** The error for a client that made a call whose outcome is unknown. */
export function unknownResult(unknown: UnknownOutcome, message: string): object {
  const { threadId, fingerprint, tool, notKept } = unknown;
  const command = `npx stratigraph answer ${quoted(threadId)} ${fingerprint.slice(0, 12)}`;
  const happened = `${command} happened --result '{"content":[{"type":"text","text":"…"}]}' --author …`;
  const text =
    notKept === undefined
      ? `Nobody knows whether a call of ${JSON.stringify(tool)} with these arguments happened, and it isn't made again until a person has found out. ` +
        `Don't call it in another way. The person answers: ${happened} ` +
        `if it happened, ${command} not-happened --author … if it certainly didn't. A repetition under the same name then gets the result, or ` +
        `runs; one without a name is a call of its own. ${message}`
      : `This call of ${JSON.stringify(tool)} happened, once. Don't make it again, and don't call it in another way: only its result isn't kept (${notKept}). ` +
        `Go on as after a call that happened. A person can give the result: ${happened}. A repetition under the same name then gets it.`;
  return {
    ...textResult(text),
    isError: true,
    _meta: { "dev.stratigraph/unknown": { thread: threadId, call: fingerprint } },
  };
}

/** Quotes text for a shell. */
function quoted(text: string): string {
  return /^[\w.-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The prefix of the names of questions, which end with the call's fingerprint. */
const prefix = "dev.stratigraph/outcome/";

/** Whether a client can show a form to its user. Generation 1 of the SDK can't stop a call for a question. */
export function canElicit(server: object, context: McpContext): boolean {
  if (context.mcpReq === undefined) return false;
  const declared = Object(context.mcpReq.envelope) as Record<string, unknown>;
  const { server: low } = server as { server?: { getClientCapabilities?(): unknown } };
  const capabilities =
    declared["io.modelcontextprotocol/clientCapabilities"] ?? low?.getClientCapabilities?.();
  const { elicitation } = Object(capabilities) as { elicitation?: { form?: unknown; url?: unknown } };
  // A client that names no mode has forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** The result by which a tool asks the client's user whether a call happened. */
export function questionFor({ fingerprint, tool, notKept }: UnknownOutcome): object {
  return {
    resultType: "input_required",
    inputRequests: {
      [`${prefix}${fingerprint}`]: {
        method: "elicitation/create",
        params: {
          mode: "form",
          message:
            notKept === undefined
              ? `Nobody knows whether this call of ${JSON.stringify(tool)} happened: it began, and no outcome was recorded. Find out first. Did it happen?`
              : `This call of ${JSON.stringify(tool)} happened, and its result isn't kept: ${notKept}. What was its result?`,
          requestedSchema: {
            type: "object",
            properties: {
              happened: {
                type: "boolean",
                title: "It happened",
                ...(notKept === undefined ? {} : { default: true }),
              },
              result: { type: "string", title: "Its result, if it happened" },
            },
            required: ["happened"],
          },
        },
      },
    },
  };
}

/**
 * Records the answers that came with a request to questions about calls whose outcome was unknown.
 * @returns the result of a call that happened; undefined if the call is to be made
 * @throws StratigraphError "LOCKED"
 */
export async function takeAnswer(
  journal: McpJournal,
  threadId: string,
  context: McpContext,
): Promise<unknown> {
  for (const [name, given] of Object.entries(requestIn(context).inputResponses ?? {})) {
    if (!name.startsWith(prefix)) continue;
    const { action, content } = Object(given) as { action?: unknown; content?: unknown };
    const { happened, result } = Object(content) as { happened?: unknown; result?: unknown };
    if (action !== "accept" || typeof happened !== "boolean") continue;
    const value = typeof result === "string" && result !== "" ? asResult(result) : asResult(undefined);
    const author = `client ${context.http?.authInfo?.clientId ?? ""}`.trim();
    try {
      await journal.resolve?.(name.slice(prefix.length), {
        threadId,
        happened,
        author,
        ...(happened ? { result: value } : {}),
      });
    } catch (error) {
      // Somebody else answered meanwhile: the call's record says what.
      if (StratigraphError.is(error, "NOT_FOUND") || StratigraphError.is(error, "INVALID_OPTION")) continue;
      throw error;
    }
    if (happened) return value;
  }
  return undefined;
}
