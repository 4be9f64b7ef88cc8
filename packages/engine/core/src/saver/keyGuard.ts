import { CodecError, keyIdOf, type Cipher } from "../codec/index.ts";
import { answerWithin } from "../contract/answerWithin.ts";
import { StratigraphError } from "../contract/errors.ts";
import { looksOnly } from "../contract/lookOnly.ts";
import type { Tier } from "../contract/tier.ts";
import {
  hasKeyCheckPlaces,
  keepsKeyChecks,
  type Diagnosis,
  type DiagnoseRequest,
  type KeyCheckKeeper,
  type TierRole,
} from "../contract/tierExtensions.ts";
import type { Sealer } from "../encode/envelope.ts";
import { layersOf } from "../operations/holding.ts";
import { proofsOf } from "./keyProofs.ts";
import { messageOf } from "../serde/messageOf.ts";

/** A storage that keeps check values, and the check values that it has. */
interface Place {
  readonly tier: Tier & KeyCheckKeeper;
  readonly role: TierRole;
  /** By name. Undefined if the storage can't be asked. */
  readonly stored: Map<string, string> | undefined;
}

/** The name of the hash key's check value, and the prefix of a key's id in the names of all others. */
const [hashKeyName, keyPrefix] = ["hash", "key "];
/** How long a tier that a stack can do without may take, in milliseconds. */
const optionalMs = 2_000;
/**
 * Compares a saver's keys with the check values in its storages, so that a process with another key under a known id, or with another hash
 * key, is refused before it reads or writes anything. The first call that opens, seals or hashes anything waits for the comparison.
 *
 * A storage without a check value takes that of the first process that is about to write, unless some of its data was written with another
 * key. It is no error if a storage can't be asked, or may not be written to.
 */
export class KeyGuard {
  readonly #tier: Tier;
  readonly #cipher: Cipher;
  readonly #maxValueBytes: number;
  /** Names of all keys that this saver has. */
  readonly #names: readonly string[];
  #looking: Promise<readonly Place[]> | undefined;
  /** Ids of keys that were compared. */
  readonly #compared = new Set<string>();
  #claiming: Promise<void> | undefined;
  #claimed = false;

  constructor(tier: Tier, cipher: Cipher, maxValueBytes: number) {
    this.#tier = tier;
    this.#cipher = cipher;
    this.#maxValueBytes = maxValueBytes;
    this.#names = [hashKeyName, ...cipher.keyIds.map((id) => keyPrefix + id)];
  }

  /** The cipher, for everything but the guard itself. */
  get sealer(): Sealer {
    const cipher = this.#cipher;
    return {
      activeKey: cipher.activeKey,
      seal: async (bytes, aad, name) => {
        if (!this.#claimed) await this.#beforeSealing();
        return await cipher.seal(bytes, aad, name);
      },
      open: async (bytes, aad) => {
        if (this.#compared.size < cipher.keyIds.length) {
          const id = keyIdOf(bytes);
          if (id !== undefined && cipher.keyIds.includes(id)) await this.#compare(id);
        }
        return await cipher.open(bytes, aad);
      },
    };
  }

  /** Waits until the hash key was compared. Call it before hashes are asked for: one made with another key finds nothing. */
  async beforeHashing(): Promise<void> {
    await this.#look();
  }

  /**
   * Compares all keys, and stores missing check values. A key that can't be fetched now is compared when it is needed.
   * @param options `write` false: nothing is stored, nor later as long as nothing is written
   * @throws StratigraphError "KEY_MISMATCH"; what a call of the storage throws
   */
  async setUp({ write }: { readonly write: boolean }): Promise<void> {
    await this.#look();
    await Promise.all(this.#cipher.keyIds.map((id) => ifFetched(this.#compare(id))));
    if (write) await ifFetched(this.#claim());
  }

  /** What each storage reports about the keys. Never rejects. */
  async diagnose({ timeoutMs }: Pick<DiagnoseRequest, "timeoutMs">): Promise<readonly Diagnosis[]> {
    const places = await placesOf(this.#tier).catch(() => []);
    return await Promise.all(
      places.map(async (place): Promise<Diagnosis> => {
        const about = { tier: place.tier.name, role: place.role, check: "keys" } as const;
        try {
          return {
            ...about,
            ...(await answerWithin(
              timeoutMs,
              () => this.#finding(place),
              () => new Error("It gave no answer."),
            )),
          };
        } catch (error) {
          if (StratigraphError.is(error, "KEY_MISMATCH"))
            return { ...about, status: "problem", found: error.message };
          const why = messageOf(error);
          return { ...about, status: "unknown", found: `It could not be looked at: ${why}` };
        }
      }),
    );
  }

  async #finding({
    tier,
    role,
  }: Omit<Place, "stored">): Promise<Pick<Diagnosis, "status" | "found" | "advice">> {
    const stored = new Map(await tier.keyChecks(this.#names));
    const place: Place = { tier, role, stored };
    this.#compareHashKey(place);
    for (const id of this.#cipher.keyIds) await this.#compareAt(place, id);
    if (stored.has(hashKeyName) && stored.has(keyPrefix + this.#cipher.activeKey))
      return {
        status: "ok",
        found: "The encryption keys and the hash key are those that it was written with.",
      };
    if (role !== "hot") await this.#proofs(place);
    const found =
      "It has no check value of the active key yet: another key under the same id wouldn't be noticed.";
    return { status: "warning", found, advice: "Open it once with the right to write: stratigraph setup." };
  }

  async #beforeSealing(): Promise<void> {
    if (looksOnly()) return await this.#compare(this.#cipher.activeKey);
    await (this.#claiming ??= this.#claim().finally(() => (this.#claiming = undefined)));
  }

  /** Reads the check values of all storages, once. @throws StratigraphError "KEY_MISMATCH" if the hash key is another */
  async #look(): Promise<readonly Place[]> {
    this.#looking ??= this.#lookAt().catch((error: unknown) => {
      this.#looking = undefined;
      throw error;
    });
    return await this.#looking;
  }

  async #lookAt(): Promise<readonly Place[]> {
    const places = await Promise.all(
      (await placesOf(this.#tier)).map(async (place): Promise<Place> => {
        const stored = await asked(place, () => place.tier.keyChecks(this.#names));
        return { ...place, stored: stored === undefined ? undefined : new Map(stored) };
      }),
    );
    for (const place of places) this.#compareHashKey(place);
    return places;
  }

  #compareHashKey(place: Place): void {
    const stored = place.stored?.get(hashKeyName);
    if (stored !== undefined && stored !== this.#cipher.hashKeyCheck)
      throw mismatch(place, undefined, "value");
  }

  /** Compares one key. @throws StratigraphError "KEY_MISMATCH"; CodecError `key-failed` */
  async #compare(id: string): Promise<void> {
    if (this.#compared.has(id)) return;
    for (const place of await this.#look()) await this.#compareAt(place, id);
    this.#compared.add(id);
  }

  async #compareAt(place: Place, id: string): Promise<void> {
    const stored = place.stored?.get(keyPrefix + id);
    // A key without a check value isn't fetched for this.
    if (stored !== undefined && stored !== (await this.#cipher.keyCheck(id)))
      throw mismatch(place, id, "value");
  }

  /** Stores the missing check values of the active key and the hash key, and of other keys that are proven meanwhile. */
  async #claim(): Promise<void> {
    const { activeKey } = this.#cipher;
    await this.#compare(activeKey);
    const needed = [hashKeyName, keyPrefix + activeKey];
    const lacking = (await this.#look()).filter(
      ({ stored }) => stored !== undefined && needed.some((name) => !stored.has(name)),
    );
    // First all storages are asked, so that a process that one of them refuses has left nothing in another.
    const claims = await Promise.all(
      lacking.map(async (place) => {
        // A hot tier holds only copies of another tier's data.
        const proven =
          place.role === "hot" ? new Set<string>() : await asked(place, () => this.#proofs(place));
        return {
          place,
          names: this.#names.filter((name) => needed.includes(name) || proven?.has(name)),
          isKnown: proven !== undefined,
        };
      }),
    );
    for (const { place, names, isKnown } of claims) if (isKnown) await this.#claimAt(place, names);
    this.#claimed = true;
  }

  async #claimAt(place: Place, names: readonly string[]): Promise<void> {
    // One after another, the hash key first: of two processes with different keys, the one that loses has left nothing.
    for (const name of names) {
      if (place.stored!.has(name)) continue;
      const id = name === hashKeyName ? undefined : name.slice(keyPrefix.length);
      const value = id === undefined ? this.#cipher.hashKeyCheck : await this.#cipher.keyCheck(id);
      const stored = await asked(place, () => place.tier.claimKeyCheck(name, value));
      if (stored === undefined) return;
      if (stored !== value) throw mismatch(place, id, "value");
      place.stored!.set(name, stored);
    }
  }

  /** Names of the keys that a storage's data proves. @throws StratigraphError "KEY_MISMATCH" for a key that the data refutes */
  async #proofs(place: Place): Promise<ReadonlySet<string>> {
    const sealers = { cipher: this.#cipher, maxValueBytes: this.#maxValueBytes };
    const { proven, refuted } = await proofsOf(place.tier, sealers, [...this.#cipher.keyIds, undefined]);
    for (const id of refuted) throw mismatch(place, id, "data");
    return new Set([...proven].map(nameOf));
  }
}

/** All storages of a tier that keep check values. */
async function placesOf(tier: Tier): Promise<Omit<Place, "stored">[]> {
  const places = layersOf(tier).map(async ({ tier: layer, role }) => {
    const databases = hasKeyCheckPlaces(layer) ? await layer.keyCheckPlaces() : [layer];
    return databases.filter(keepsKeyChecks).map((place) => ({ tier: place, role }));
  });
  return (await Promise.all(places)).flat();
}

/** Codes of errors that pass, or that end everything: the waiting call would fail in the same way. */
const passing: ReadonlySet<unknown> = new Set(["UNAVAILABLE", "OVERLOADED", "CLOSED"]);

/**
 * Asks a storage. Undefined if a tier that a stack can do without fails or doesn't answer, or if another tier refuses: a user who may only
 * read, a schema that is missing or of an older version, a full disk.
 * @throws StratigraphError "KEY_MISMATCH"; errors that pass, if the tier owns the threads
 */
async function asked<T>({ role }: Pick<Place, "role">, ask: () => Promise<T>): Promise<T | undefined> {
  const late = (): Error => new StratigraphError("UNAVAILABLE", `No answer within ${optionalMs} ms.`);
  try {
    return role === "warm" ? await ask() : await answerWithin(optionalMs, ask, late);
  } catch (error) {
    if (StratigraphError.is(error, "KEY_MISMATCH")) throw error;
    if (role === "warm" && (!StratigraphError.is(error) || passing.has(error.code))) throw error;
    return undefined;
  }
}

/** Waits for a comparison. It is no error yet if a key can't be fetched. */
async function ifFetched(comparing: Promise<void>): Promise<void> {
  try {
    await comparing;
  } catch (error) {
    if (!CodecError.is(error)) throw error;
  }
}

/** The name of the check value of a key; undefined stands for the hash key. */
function nameOf(id: string | undefined): string {
  return id === undefined ? hashKeyName : keyPrefix + id;
}

/** @param id of a key; undefined for the hash key. @param by which shows the mismatch: a check value, or stored data */
function mismatch(
  { tier, role }: Pick<Place, "tier" | "role">,
  id: string | undefined,
  by: "value" | "data",
): StratigraphError {
  const field = id === undefined ? "encryption.hashKey" : `encryption.keys[${JSON.stringify(id)}]`;
  const why =
    by === "value"
      ? "its check value is another"
      : id === undefined
        ? "what was looked at has other hashes"
        : "nothing that was looked at opens with it";
  const advice =
    id === undefined
      ? "It must never change: set the one that the storage was begun with."
      : "Set the right secret under this id; a new key needs an id of its own.";
  const copies =
    role === "hot" ? " This tier holds only copies: if they are of another storage, empty it." : "";
  return new StratigraphError(
    "KEY_MISMATCH",
    `${field} isn't what storage ${tier.name} (${role}) was written with: ${why}. Nothing was read or written with it. ${advice}${copies}`,
    { field, ...(id === undefined ? {} : { keyId: id }), tier: tier.name, role },
  );
}
