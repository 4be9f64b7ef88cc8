import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { canonical } from "../identity/canonical.ts";
import type { Entry, EntryHeader, JournalEvent, KnownBy } from "./entry.ts";

/** Keys for the hashes of a journal. */
export interface SignOptions {
  /** Secrets by name, of at least 16 bytes each. Keep old ones: entries that they signed are verified with them. */
  readonly keys: Readonly<Record<string, string | Uint8Array>>;
  /** The key that new entries are signed with. */
  readonly activeKey: string;
  /**
   * How to treat journals that begin with unsigned entries: "accept" for those that were begun before there were keys. Anyone who can write
   * to the storage could have made such entries. Default "refuse": no call is made in such a thread.
   */
  readonly unsigned?: "accept" | "refuse" | undefined;
}

const shortestKey = 16;

/** Makes and checks the hashes of entries: SHA-256, or HMAC-SHA-256 if there are keys. */
export class Sealing {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  /** Name of the key for new entries; undefined for plain hashes. */
  readonly activeKey: string | undefined;
  /** Whether journals may begin with unsigned entries. */
  readonly takesUnsigned: boolean;

  /** @throws InvalidOptionError */
  constructor(options: SignOptions | undefined) {
    this.activeKey = options?.activeKey;
    this.takesUnsigned = options?.unsigned === "accept";
    if (options?.unsigned !== undefined && !["accept", "refuse"].includes(options.unsigned))
      throw new InvalidOptionError("sign.unsigned", options.unsigned, 'Use "accept" or "refuse".');
    this.#keys = new Map(
      Object.entries(options?.keys ?? {}).map(([name, key]) => {
        if (typeof key !== "string" && !(key instanceof Uint8Array))
          throw new InvalidOptionError(`sign.keys.${name}`, typeof key, "Pass text or bytes.");
        return [name, Buffer.from(key as Uint8Array)];
      }),
    );
    if (options === undefined) return;
    for (const [name, key] of this.#keys)
      if (key.length < shortestKey)
        throw new InvalidOptionError(
          `sign.keys.${name}`,
          `${key.length} bytes`,
          `Pass a secret of at least ${shortestKey} bytes, such as randomBytes(32).`,
        );
    if (!this.#keys.has(options.activeKey))
      throw new InvalidOptionError(
        "sign.activeKey",
        options.activeKey,
        `Name one of sign.keys: ${[...this.#keys.keys()].join(", ") || "there are none"}.`,
      );
  }

  /** The hash of an entry. @throws StratigraphError "KEY_MISSING" */
  hashOf(header: EntryHeader, event: JournalEvent): string {
    return this.#digest(canonical(["entry/1", header, event]), header.keyId ?? null);
  }

  /** Whether an entry is as it was made. @throws StratigraphError "KEY_MISSING" */
  isIntact({ event, hash, ...header }: Entry): boolean {
    const expected = Buffer.from(this.hashOf(header, event));
    const found = Buffer.from(hash);
    return expected.length === found.length && timingSafeEqual(expected, found);
  }

  /**
   * The hash of a payload's text or bytes: keyed, so that short arguments can't be guessed from it.
   * @param keyId name of the key; null for plain SHA-256. Default: the active key
   * @param purpose separates the hashes: somebody who chooses a call's arguments can't thereby get the hash of an entry
   * @throws StratigraphError "KEY_MISSING"
   */
  hash(
    content: string | Uint8Array,
    keyId: string | null | undefined = this.activeKey,
    purpose: "payload" | "header" = "payload",
  ): string {
    return this.#digest(Buffer.concat([Buffer.from(`${purpose}/1\n`), Buffer.from(content)]), keyId ?? null);
  }

  /**
   * A fingerprint, or a place in the chain, as a journal stores it: keyed, so that nobody can guess erased arguments by trying.
   * @param knownBy name of the key; null: unchanged
   * @throws StratigraphError "KEY_MISSING"
   */
  known(digest: string, knownBy: KnownBy): string {
    return knownBy === null || digest === "" ? digest : this.#digest(`known/1\n${digest}`, knownBy);
  }

  /** The hashes of a payload by all keys except the active one, and without a key: entries from before a change of keys have these. */
  otherHashes(content: string | Uint8Array): string[] {
    const keyIds = [null, ...this.#keys.keys()].filter((keyId) => keyId !== (this.activeKey ?? null));
    return keyIds.map((keyId) => this.hash(content, keyId));
  }

  /** Whether a hash is that of a payload, with any of the keys or none. */
  isHashOf(hash: string, content: string | Uint8Array): boolean {
    return this.hash(content) === hash || this.otherHashes(content).includes(hash);
  }

  #digest(content: string | Uint8Array, keyId: string | null): string {
    if (keyId === null) return createHash("sha256").update(content).digest("hex");
    const key = this.#keys.get(keyId);
    if (key === undefined)
      throw new StratigraphError(
        "KEY_MISSING",
        `The journal needs the key ${JSON.stringify(keyId)}: entries are signed with it, or calls are known by it. Pass it in the option sign.keys.`,
        { keyId },
      );
    return createHmac("sha256", key).update(content).digest("hex");
  }
}
