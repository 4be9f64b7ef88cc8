import { StratigraphError } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import type { Place } from "./places.ts";

/** What may be wrong with stored bytes. */
export const kinds = [
  "lost-thread",
  "wrong-head",
  "missing-blob",
  "corrupt",
  "gap",
  "order",
  "tombstone-leak",
  "orphan",
  "key-missing",
  "unreadable",
] as const;
export type Kind = (typeof kinds)[number];

/** Which part of a thread a finding is about. */
export const parts = ["head", "record", "blob", "writes", "thread"] as const;
export type Part = (typeof parts)[number];

/** Something that looks wrong and hasn't been looked at again yet. */
export interface Suspicion {
  readonly kind: Kind;
  readonly severity: "error" | "warning" | "info";
  readonly part: Part;
  readonly place: Place;
  readonly namespace: string;
  readonly checkpointId?: string | undefined;
  readonly channel?: string | undefined;
  /** The hash of the blob, if it is about one. */
  readonly hash?: string | undefined;
  /** Position of a batch among the pending writes of its checkpoint; 0 is the oldest. */
  readonly batch?: number | undefined;
  /** Where a head should be. */
  readonly target?: string | undefined;
  /** One sentence: what it means. */
  readonly meaning: string;
  /** What exactly was found, if the sentence doesn't say it. */
  readonly detail?: string | undefined;
  /** The checkpoints to look at to find it again. */
  readonly involved: readonly Address[];
  /** How many checkpoints it concerns. */
  readonly concerns: number;
}

/** A key by which a suspicion is recognised when it is found again. A blob is one finding, however many checkpoints need it. */
export function suspicionKey(
  suspicion: Pick<Suspicion, "kind" | "part" | "namespace" | "checkpointId" | "hash" | "batch">,
  place: string,
): string {
  const { kind, part, namespace, checkpointId = "", hash = "", batch = -1 } = suspicion;
  // A missing key is one finding, whatever is encrypted with it.
  if (kind === "key-missing") return JSON.stringify([kind, place]);
  if (part === "thread") return JSON.stringify([kind, part, place]);
  return JSON.stringify(
    part === "blob" ? [kind, part, place, hash] : [kind, part, place, namespace, checkpointId, batch],
  );
}

/** How many checkpoints are kept at most to look at one suspicion again: some may be pruned meanwhile. */
const mostInvolved = 3;

/** The suspicions of a thread. One that is added again concerns one more checkpoint. */
export class Suspicions {
  readonly #found = new Map<string, Suspicion>();

  add(suspicion: Suspicion): void {
    const key = suspicionKey(suspicion, suspicion.place.name);
    const before = this.#found.get(key);
    if (before === undefined) {
      this.#found.set(key, suspicion);
      return;
    }
    const more = suspicion.involved.filter(({ namespace }) => namespace === before.namespace);
    const involved = [...before.involved, ...more].slice(0, mostInvolved);
    this.#found.set(key, { ...before, involved, concerns: before.concerns + suspicion.concerns });
  }

  get all(): readonly Suspicion[] {
    return [...this.#found.values()];
  }

  has(key: string): boolean {
    return this.#found.has(key);
  }
}

/** Why bytes can't be decoded. */
export interface Undecodable {
  readonly kind: "corrupt" | "key-missing" | "unreadable";
  readonly detail: string;
}

/** Longest detail, in characters. */
const longestDetail = 400;

/**
 * Classifies an error of reading or decoding by what it says of the stored bytes.
 * @throws the error, if it says nothing of them: an outage, a closed tier
 */
export function undecodable(error: unknown): Undecodable {
  const detail = reasonOf(error).slice(0, longestDetail);
  // Tiers decode what a row or a field holds; damage there shows as one of these.
  if (error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError)
    return { kind: "corrupt", detail };
  if (!StratigraphError.is(error)) throw error;
  if (error.code === "CORRUPT") return { kind: "corrupt", detail };
  if (error.code === "KEY_MISSING" || error.code === "KEY_UNAVAILABLE")
    return { kind: "key-missing", detail };
  if (error.code === "NEWER_FORMAT" || error.code === "PLAINTEXT_REFUSED")
    return { kind: "unreadable", detail };
  throw error;
}

/** Throws an error again, unless it says that stored bytes can't be decoded. */
export function rethrowUnlessDamage(error: unknown): void {
  undecodable(error);
}

/** Why bytes can't be decoded. Leaves out the place, which errors of the saver repeat: a finding has fields for it. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  if (StratigraphError.is(error) && cause instanceof Error) return cause.message;
  return messageOf(error);
}
