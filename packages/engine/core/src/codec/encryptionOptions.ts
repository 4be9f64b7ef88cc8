import { checkOptions, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { waitMsOf, type Duration } from "../contract/units.ts";

/** Fetches a key of 32 bytes, e.g. from a KMS. */
export type KeyFunction = () => Promise<Uint8Array> | Uint8Array;

/** A key of 32 bytes, or a function that fetches it. */
export type KeySource = Uint8Array | KeyFunction;

/** Encryption of everything that a saver stores. */
export interface EncryptionOptions {
  /**
   * AES-256 keys by id. Ids are stored with the bytes: 1 to 255 bytes of UTF-8. To rotate, add a key, make it
   * the active one, and keep the old one for as long as bytes sealed with it exist. A function is called when its key is first
   * needed, and only once even if many calls need it at the same time. Its result is kept, a failure is not.
   */
  readonly keys: Readonly<Record<string, KeySource>>;
  /** The id of the key that new bytes are sealed with. Rotate it well before 2^32 uses, because random nonces may repeat then. */
  readonly activeKey: string;
  /**
   * A secret of at least 32 bytes, from which the key of content hashes is derived, so that stored hashes don't let anybody
   * confirm a guess at the content. It is separate from `keys` because it must never change: with another one, no stored hash
   * would match its content any more.
   */
  readonly hashKey: Uint8Array;
  /**
   * Whether to refuse bytes that are not sealed. Default false, so that encryption can be turned on for existing data. Turn it on
   * once all data is sealed: otherwise anybody who can write to the database can place unsealed bytes there.
   */
  readonly refusePlaintext?: boolean;
  /**
   * How long a function of `keys` may take: a duration such as "10s", which is the default. After it, calls that need the key fail
   * with "KEY_UNAVAILABLE", and the next call asks the function again.
   */
  readonly keyTimeout?: Duration;
}

const names: OptionNames<EncryptionOptions> = {
  keys: true,
  activeKey: true,
  hashKey: true,
  refusePlaintext: true,
  keyTimeout: true,
};
const advice: OptionAdvice = {
  key: 'Write keys and activeKey: { keys: { "1": key }, activeKey: "1", hashKey }.',
  timeout: "Write keyTimeout.",
  password: "Keys are 32 random bytes: write keys, activeKey and hashKey.",
};

export const keyBytes = 32;
const maxIdBytes = 255;

/** @throws InvalidOptionError naming the field, what was found and what to do; never a key's bytes */
export function checkEncryptionOptions(options: EncryptionOptions): void {
  checkOptions("encryption", options, names, advice, "encryption");
  const { keys, activeKey, hashKey, refusePlaintext } = options;
  if (typeof keys !== "object" || keys === null || Object.keys(keys).length === 0) {
    throw new InvalidOptionError(
      "encryption.keys",
      describe(keys),
      "Pass an object with at least one key by its id.",
    );
  }
  for (const [id, key] of Object.entries(keys)) {
    const encoded = Buffer.from(id, "utf8");
    if (encoded.length === 0 || encoded.length > maxIdBytes || encoded.toString("utf8") !== id) {
      const advice = `Use 1 to ${maxIdBytes} bytes of well-formed text as a key's id.`;
      throw new InvalidOptionError("encryption.keys", `the id ${JSON.stringify(id.slice(0, 64))}`, advice);
    }
    if (typeof key !== "function" && !isKey(key)) {
      const advice = `Pass a Uint8Array of ${keyBytes} bytes, e.g. randomBytes(${keyBytes}), or a function that returns one.`;
      throw new InvalidOptionError(`encryption.keys[${JSON.stringify(id)}]`, describe(key), advice);
    }
  }
  if (typeof activeKey !== "string" || !Object.hasOwn(keys, activeKey)) {
    const found = typeof activeKey === "string" ? activeKey : describe(activeKey);
    const advice = `Name one of the ids in encryption.keys: ${Object.keys(keys).join(", ")}.`;
    throw new InvalidOptionError("encryption.activeKey", found, advice);
  }
  if (!(hashKey instanceof Uint8Array) || hashKey.length < keyBytes) {
    const advice = `Pass a Uint8Array of at least ${keyBytes} bytes that never changes, e.g. randomBytes(${keyBytes}) kept as a secret.`;
    throw new InvalidOptionError("encryption.hashKey", describe(hashKey), advice);
  }
  if (refusePlaintext !== undefined && typeof refusePlaintext !== "boolean") {
    throw new InvalidOptionError(
      "encryption.refusePlaintext",
      describe(refusePlaintext),
      "Pass true or false.",
    );
  }
  if (keyTimeoutMs(options) < 1) {
    throw new InvalidOptionError("encryption.keyTimeout", options.keyTimeout, 'Use at least "1ms".');
  }
}

/** How long a key function may take, in milliseconds. @throws InvalidOptionError */
export function keyTimeoutMs({ keyTimeout = "10s" }: EncryptionOptions): number {
  return waitMsOf("encryption.keyTimeout", keyTimeout);
}

export function isKey(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value.length === keyBytes;
}

/** Describes a value without showing its content: it may be a secret. */
export function describe(value: unknown): string {
  if (value instanceof Uint8Array) return `a Uint8Array of ${value.length} bytes`;
  if (typeof value === "string") return `a string of ${value.length} characters`;
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}
