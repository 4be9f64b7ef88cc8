import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { answerWithin } from "../contract/answerWithin.ts";
import { concat } from "../encode/bytes.ts";
import { CodecError } from "./codecError.ts";
import { deriveHashKey } from "./contentHash.ts";
import {
  checkEncryptionOptions,
  describe,
  isKey,
  keyBytes,
  keyTimeoutMs,
  type EncryptionOptions,
  type KeyFunction,
} from "./encryptionOptions.ts";
import { messageOf } from "../serde/messageOf.ts";

/** The first byte of sealed bytes. The cipher has the tags 0x40 to 0x4f, the codec those below. */
const sealedTag = 0x41;
/** The first byte of sealed bytes that have a name in front of the nonce. */
const namedTag = 0x42;
/** Length of such a name, in bytes. */
export const nameLength = 9;
const isCipherTag = (tag: number | undefined): boolean => tag !== undefined && tag >> 4 === 4;

/**
 * The id of the key that sealed these bytes; undefined for bytes that aren't sealed.
 * @throws CodecError `unknown-tag`, `corrupt`
 */
export function keyIdOf(bytes: Uint8Array): string | undefined {
  if (!isCipherTag(bytes[0])) return undefined;
  if (bytes[0] !== sealedTag && bytes[0] !== namedTag) {
    throw new CodecError(
      "unknown-tag",
      `Cipher tag ${bytes[0]} is not known; a newer version sealed these bytes.`,
    );
  }
  const idLength = bytes[1] ?? 0;
  if (bytes.length < headerLength(bytes) + nonceLength + authTagLength) {
    throw new CodecError("corrupt", "The sealed bytes end before they are complete.");
  }
  const encoded = Buffer.from(bytes.buffer, bytes.byteOffset + 2, idLength);
  const id = encoded.toString("utf8");
  // If damage made other bytes look sealed, there is hardly ever valid text where the id would be.
  if (idLength === 0 || (id.includes("\ufffd") && !Buffer.from(id, "utf8").equals(encoded)))
    throw new CodecError("corrupt", "The bytes begin as sealed ones do, without the id of a key.");
  return id;
}

/** The number of bytes in front of the nonce. */
function headerLength(bytes: Uint8Array): number {
  return 2 + (bytes[1] ?? 0) + (bytes[0] === namedTag ? nameLength : 0);
}

/** The name that sealed bytes were given, see {@link Cipher.seal}; undefined if they have none. */
export function nameOf(bytes: Uint8Array): Uint8Array | undefined {
  const end = headerLength(bytes);
  return bytes[0] === namedTag && bytes.length >= end ? bytes.subarray(end - nameLength, end) : undefined;
}

const algorithm = "aes-256-gcm";
const nonceLength = 12;
const authTagLength = 16;

/**
 * AES-256-GCM with key ids. Sealing is the last step before bytes are stored.
 *
 * Sealed bytes: tag 0x41 · length of the key id (1 byte) · key id (UTF-8) · nonce (12) · ciphertext · GCM tag
 * (16). With a name: tag 0x42, and the name (9) in front of the nonce. Besides the ciphertext, GCM authenticates everything
 * in front of the nonce, followed by the caller's associated data.
 */
export class Cipher {
  /** The id of the key that new bytes are sealed with. */
  readonly activeKey: string;
  readonly #keyTimeoutMs: number;
  readonly #refusePlaintext: boolean;
  readonly #functions = new Map<string, KeyFunction>();
  readonly #keys = new Map<string, KeyObject>();
  readonly #loading = new Map<string, Promise<KeyObject>>();
  /** HMAC key for `contentHash`. */
  readonly hashKey: Uint8Array;
  /** Ids of all keys. */
  readonly keyIds: readonly string[];
  /** Check value of the option `hashKey`, see {@link Cipher.keyCheck}. */
  readonly hashKeyCheck: string;

  /** @throws InvalidOptionError */
  constructor(options: EncryptionOptions) {
    checkEncryptionOptions(options);
    this.activeKey = options.activeKey;
    this.#keyTimeoutMs = keyTimeoutMs(options);
    this.#refusePlaintext = options.refusePlaintext ?? false;
    this.hashKey = deriveHashKey(options.hashKey);
    this.hashKeyCheck = checkValue(createSecretKey(options.hashKey), "hash key");
    this.keyIds = Object.keys(options.keys);
    for (const [id, source] of Object.entries(options.keys)) {
      if (typeof source === "function") this.#functions.set(id, source);
      else this.#keys.set(id, createSecretKey(source));
    }
  }

  /**
   * Encrypts with the active key.
   *
   * @param aad associated data that says where the bytes belong, such as the blob's address; `open` needs the same
   * @param name 9 bytes, not encrypted: when bytes that are identified by their hash are sealed anew, the name keeps their identity
   * @throws CodecError `key-failed`
   */
  async seal(bytes: Uint8Array, aad: Uint8Array, name?: Uint8Array): Promise<Uint8Array> {
    const key = this.#keys.get(this.activeKey) ?? (await this.#key(this.activeKey));
    const id = Buffer.from(this.activeKey, "utf8");
    const header =
      name === undefined
        ? concat([Uint8Array.of(sealedTag, id.length), id])
        : concat([Uint8Array.of(namedTag, id.length), id, name]);
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength });
    cipher.setAAD(concat([header, aad]));
    const encrypted = cipher.update(bytes);
    return concat([header, nonce, encrypted, cipher.final(), cipher.getAuthTag()]);
  }

  /**
   * Decrypts with the key that the bytes name. Returns unsealed bytes unchanged, unless they are refused.
   *
   * @param aad the associated data that `seal` was given
   * @throws CodecError `tampered`, `corrupt`, `unknown-key`, `key-failed`, `plaintext-refused`, `unknown-tag`
   */
  async open(bytes: Uint8Array, aad: Uint8Array): Promise<Uint8Array> {
    const id = keyIdOf(bytes);
    if (id === undefined) {
      if (!this.#refusePlaintext) return bytes;
      const message =
        "The bytes are not sealed, and refusePlaintext is on. Rewrite them with encryption, or turn it off.";
      throw new CodecError("plaintext-refused", message);
    }
    const body = headerLength(bytes);
    const key = this.#keys.get(id) ?? (await this.#key(id));
    const content = body + nonceLength;
    const authTag = bytes.length - authTagLength;
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(body, content), { authTagLength });
    decipher.setAAD(concat([bytes.subarray(0, body), aad]));
    decipher.setAuthTag(bytes.subarray(authTag));
    const decrypted = decipher.update(bytes.subarray(content, authTag));
    try {
      decipher.final();
    } catch (cause) {
      const message = `Bytes sealed with key ${JSON.stringify(id)} do not open: they, their address or the key were changed.`;
      throw new CodecError("tampered", message, { cause });
    }
    return new Uint8Array(decrypted.buffer, decrypted.byteOffset, decrypted.length);
  }

  /**
   * A value that shows whether there is another key under the same id: 128 bits of HKDF-SHA-256 (RFC 5869), as hexadecimal text. HKDF's
   * output reveals nothing of the key and is independent of other uses (section 3.2 there). Testing a guess against it takes two HMACs,
   * more than the few AES blocks that a stored ciphertext takes. The usual check value, zeros encrypted with the key (ANSI X9.24-1),
   * would be GCM's own authentication subkey (NIST SP 800-38D, section 7.1).
   * @throws CodecError `key-failed`, `unknown-key`
   */
  async keyCheck(id: string): Promise<string> {
    return checkValue(await this.#key(id), `key ${id}`);
  }

  /** A key. Concurrent calls share one fetch, and a valid key is kept. */
  async #key(id: string): Promise<KeyObject> {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const source = this.#functions.get(id);
    if (source === undefined) {
      const shown = JSON.stringify(id.slice(0, 64));
      const message = `Key ${shown} is not in encryption.keys; put it back to read what it sealed.`;
      throw new CodecError("unknown-key", message, { keyId: id });
    }
    const loading = this.#loading.get(id) ?? this.#fetch(id, source).finally(() => this.#loading.delete(id));
    this.#loading.set(id, loading);
    return await loading;
  }

  async #fetch(id: string, source: KeyFunction): Promise<KeyObject> {
    try {
      const late = () => new Error(`it gave no answer within ${this.#keyTimeoutMs} ms`);
      return await answerWithin(this.#keyTimeoutMs, () => this.#ask(id, source), late);
    } catch (cause) {
      const why = messageOf(cause);
      const message = `The function of key ${JSON.stringify(id)} failed: ${why}. It is asked again with the next call.`;
      throw new CodecError("key-failed", message, { cause, keyId: id });
    }
  }

  /** Asks for the key and keeps it, even if it comes after the time limit. */
  async #ask(id: string, source: KeyFunction): Promise<KeyObject> {
    const bytes = await source();
    if (!isKey(bytes))
      throw new TypeError(`it returned ${describe(bytes)} instead of a Uint8Array of ${keyBytes} bytes`);
    const key = createSecretKey(bytes);
    this.#keys.set(id, key);
    return key;
  }
}

/** @param use what the secret is for, so that no two check values of one secret are the same */
function checkValue(secret: KeyObject, use: string): string {
  const derived = hkdfSync("sha256", secret, new Uint8Array(0), `stratigraph check value v1: ${use}`, 16);
  return Buffer.from(derived).toString("hex");
}
