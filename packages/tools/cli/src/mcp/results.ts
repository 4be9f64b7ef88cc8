import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type CallToolResult,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { shownError, type CallHost } from "./calls.ts";

/** A JSON Schema of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A result that says that a call failed, and what to do. */
export function errorResult(host: CallHost, error: unknown): CallToolResult {
  return failure(shownError(host, error));
}

/** An error as a result: for models as text, for programs as data. Structured content has to fit the tool's output schema. */
export function failure(told: { readonly code: string; readonly message: string }): CallToolResult {
  return {
    isError: true,
    content: [{ type: "text", text: `${told.code}: ${told.message}` }],
    _meta: { "dev.stratigraph/error": told },
  };
}

/** What a client got wrong: the errors of the protocol have a code for that. */
const theirs: ReadonlySet<string> = new Set([
  "INVALID_OPTION",
  "INVALID_ADDRESS",
  "ACCESS_DENIED",
  "NOT_FOUND",
  "THREAD_DELETED",
]);

/** Errors of resources and prompts are the protocol's: they have no other form for them. @param uri of the resource */
export async function withProtocolErrors<R>(
  host: CallHost,
  work: () => Promise<R>,
  uri?: string,
): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, message, fields } = shownError(host, error);
    if (uri !== undefined && (code === "NOT_FOUND" || code === "THREAD_DELETED"))
      throw new ResourceNotFoundError(uri, message);
    throw new ProtocolError(
      theirs.has(code) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      `${code}: ${message}`,
      { code, ...(uri === undefined ? {} : { resource: uri }), ...(fields === undefined ? {} : { fields }) },
    );
  }
}

/**
 * A schema for clients to read. Nothing is checked by it: the operation checks its input and output itself, and its errors say what to do.
 */
export function described(
  schema: JsonSchema,
): StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>> {
  return {
    "~standard": {
      version: 1,
      vendor: "stratigraph",
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
