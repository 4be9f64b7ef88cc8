import { CodecError, type CodecErrorReason } from "../codec/index.ts";
import { CorruptionError, StratigraphError, type ErrorCode } from "../contract/errors.ts";
import { SerializationError } from "../serde/index.ts";
import { messageOf } from "../serde/messageOf.ts";
import type { SerializationReason } from "../serde/serializationError.ts";
import type { ItemAddress } from "../contract/items.ts";
import type { Address } from "../contract/tier.ts";

/** Why the codec or the cipher refused bytes that aren't damaged. */
const codecCodes: Readonly<Partial<Record<CodecErrorReason, ErrorCode>>> = {
  "unknown-tag": "NEWER_FORMAT",
  "unknown-dictionary": "NEWER_FORMAT",
  "unknown-key": "KEY_MISSING",
  "key-failed": "KEY_UNAVAILABLE",
  "plaintext-refused": "PLAINTEXT_REFUSED",
  unavailable: "UNAVAILABLE",
};

const serdeCodes: Readonly<Record<SerializationReason, ErrorCode>> = {
  value: "SERIALIZATION",
  "unregistered-type": "UNREGISTERED_TYPE",
  "newer-format": "NEWER_FORMAT",
};

function placeOf({ threadId, namespace, checkpointId }: Address, channel: string | undefined): string {
  const at = `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, checkpoint ${checkpointId}`;
  return channel === undefined ? at : `${at}, channel ${JSON.stringify(channel)}`;
}

/** For a cause that is no damage: the error with the cause's own code and the place. Undefined for any other cause. */
function otherThanDamage(
  { threadId, namespace, checkpointId }: Address,
  channel: string | undefined,
  what: string,
  cause: unknown,
): StratigraphError | undefined {
  const where = { threadId, namespace, checkpointId, channel };
  return withOwnCode(placeOf(where, channel), where, what, cause);
}

function withOwnCode(
  place: string,
  where: Readonly<Record<string, unknown>>,
  what: string,
  cause: unknown,
): StratigraphError | undefined {
  const message = `${place}: ${what}. ${messageOf(cause)}`;
  if (CodecError.is(cause)) {
    const code = codecCodes[cause.reason];
    const { keyId } = cause;
    const data = keyId === undefined ? where : { keyId, ...where };
    return code === undefined ? undefined : new StratigraphError(code, message, data, cause);
  }
  if (SerializationError.is(cause)) {
    const { type, reason } = cause;
    const data = type === undefined ? where : { type, ...where };
    return new StratigraphError(serdeCodes[reason], message, data, cause);
  }
  return undefined;
}

/**
 * The error that is thrown if stored bytes can't be decoded; it names thread, checkpoint and channel, and the reason. Only bytes that
 * aren't what was put are "CORRUPT": a key that is missing or can't be fetched is no damage.
 */
export function undecodable(at: Address, channel: string | undefined, what: string, cause: unknown): Error {
  if (StratigraphError.is(cause)) return cause;
  const other = otherThanDamage(at, channel, what, cause);
  if (other !== undefined) return other;
  const { threadId, namespace, checkpointId } = at;
  const reason = CodecError.is(cause) ? cause.reason : undefined;
  const after =
    reason === "too-large" ? " If it was put under a larger maxValueSize, raise maxValueSize." : "";
  const before =
    reason === "tampered"
      ? "Check the key first: another key under the same id fails in the same way. If the key is right,"
      : "";
  const why = messageOf(cause).replace(/\.$/, "");
  return new CorruptionError({ threadId, namespace, checkpointId, channel }, `${what} (${why})`, cause, {
    before,
    after,
  });
}

/** The error that is thrown if the serde can't revive a value whose bytes are, by hash or checksum, those that were put. */
export function unrevivable(at: Address, channel: string, cause: unknown): Error {
  if (StratigraphError.is(cause)) return cause;
  const what = "its value can't be revived, though its bytes are those that were put";
  const { threadId, namespace, checkpointId } = at;
  return (
    otherThanDamage(at, channel, what, cause) ??
    new StratigraphError(
      "SERIALIZATION",
      `${placeOf(at, channel)}: ${what}. ${messageOf(cause)}`,
      { threadId, namespace, checkpointId, channel },
      cause,
    )
  );
}

/** The error that is thrown if a value can't be encoded, for instance because its key can't be fetched: nothing was stored. */
export function notEncoded(at: Address, channel: string | undefined, cause: unknown): unknown {
  return otherThanDamage(at, channel, "nothing was stored", cause) ?? cause;
}

/** The error that is thrown if a serde refuses a value; names thread, checkpoint and channel, and repeats the serde's advice. */
export function notStored(at: Address, channel: string, cause: unknown): Error {
  const { threadId, namespace, checkpointId } = at;
  const where = `Thread ${JSON.stringify(threadId)}, checkpoint ${checkpointId}, channel ${JSON.stringify(channel)}`;
  const data = {
    ...(StratigraphError.is(cause) ? cause.data : {}),
    threadId,
    namespace,
    checkpointId,
    channel,
  };
  return new StratigraphError(
    "SERIALIZATION",
    `${where}: the value can't be stored. ${messageOf(cause)}`,
    data,
    cause,
  );
}

/** The error that is thrown if an item can't be stored, or read back. The latter is "CORRUPT", unless the cause has a code of its own. */
export function itemError(
  { namespace, key }: ItemAddress,
  what: string,
  cause: unknown,
  code: "SERIALIZATION" | "CORRUPT",
): StratigraphError {
  if (StratigraphError.is(cause) && cause.code !== "SERIALIZATION") return cause;
  const place = `Item ${JSON.stringify(key)} of namespace ${JSON.stringify(namespace)}`;
  const where = { namespace, key };
  return (
    withOwnCode(place, where, what, cause) ??
    new StratigraphError(code, `${place}: ${what}. ${messageOf(cause)}`, where, cause)
  );
}
