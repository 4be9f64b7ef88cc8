import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { SerializationError, StratigraphError, type ErrorCode } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import type { OutlineEntry } from "../contract/source.ts";

/**
 * Decodes a value that a saver of LangGraph stored as a type and bytes, or as text.
 * @param what the value's name in messages, such as "the metadata"
 */
export type Decode = (
  what: string,
  type: string | null,
  bytes: Uint8Array | ArrayBuffer | string,
) => Promise<unknown>;

/** Makes a decoder of stored values. A value without a type counts as "json", as in the official savers. */
export function decoderOf(serde: SerializerProtocol): Decode {
  return async (what, type, bytes) => {
    // Some SQLite drivers return bytes as an ArrayBuffer.
    const stored = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
    try {
      return (await serde.loadsTyped(type ?? "json", stored)) as unknown;
    } catch (cause) {
      throw new UndecodableError(what, cause);
    }
  };
}

/** The name of a channel's value in messages. */
export function valueOf(channel: string): string {
  return `the value of channel ${JSON.stringify(channel)}`;
}

/** The name of a pending write in messages. */
export function writeTo(channel: string): string {
  return `a pending write to channel ${JSON.stringify(channel)}`;
}

class UndecodableError extends Error {
  constructor(what: string, cause: unknown) {
    super(`${what} can't be decoded: ${whyNot(cause)}`, { cause });
  }
}

/** Why a value can't be decoded. A parser's own message isn't passed on, because it quotes the stored value. */
function whyNot(cause: unknown): string {
  if (SerializationError.is(cause)) {
    const place = cause.path === "" ? "" : `${cause.path} is `;
    return `${place}${cause.found}`;
  }
  if (cause instanceof SyntaxError) return "text that is not JSON";
  return messageOf(cause);
}

/**
 * Reads one checkpoint of a source. If the checkpoint itself is damaged, the error names its place, so that the other threads can
 * still be copied.
 * @throws StratigraphError "CORRUPT" or "UNREGISTERED_TYPE", whose `data` has the message without the place as `what`; other StratigraphErrors of `read`
 */
export async function readAt<T>(
  source: string,
  threadId: string,
  { namespace, checkpointId }: OutlineEntry,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (StratigraphError.is(error)) throw error;
    const at = { threadId, namespace, checkpointId };
    const place = `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, checkpoint ${checkpointId}`;
    const why = messageOf(error);
    const [code, advice] = adviceOn(error);
    const what = `${why.replace(/\.$/, "")}. ${advice}`;
    throw new StratigraphError(
      code,
      `${place} of ${source} can't be read: ${what}`,
      { source, ...at, what },
      error,
    );
  }
}

function adviceOn(error: unknown): readonly [code: ErrorCode, advice: string] {
  const { cause } = error as Error;
  return SerializationError.is(cause) && cause.reason === "unregistered-type"
    ? ["UNREGISTERED_TYPE", "Pass the serializer that has the class registered (serde)."]
    : ["CORRUPT", "Repair it there, and repeat the call."];
}
