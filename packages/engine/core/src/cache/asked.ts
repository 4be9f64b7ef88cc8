import { createHash } from "node:crypto";
import type { CacheFullKey, CacheNamespace } from "@langchain/langgraph-checkpoint";
import { kindOf } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import type { CacheAddress } from "../contract/caches.ts";
import type { ItemAddress } from "../contract/items.ts";
import type { Asker } from "./singleFlight.ts";

/** A value that was asked for. */
export interface Asked {
  readonly address: CacheAddress;
  readonly at: ItemAddress;
  /** The tasks that ask. */
  readonly askers: Asker[];
  /** By the layers that were asked. */
  readonly eras: (string | undefined)[];
}

/** What is asked for, by its ids. @param cache its name @throws InvalidOptionError */
export function askedAt(cache: string, keys: CacheFullKey[]): Map<string, Asked> {
  const asked = new Map<string, Asked>();
  for (const [place, key] of listOf("keys", keys).entries()) {
    const one = askedFor(cache, key, `keys[${place}]`);
    const same = asked.get(one.address.id);
    if (same === undefined) asked.set(one.address.id, one);
    else same.askers.push(...one.askers);
  }
  return asked;
}

/** @throws InvalidOptionError */
export function askedFor(cache: string, given: CacheFullKey, field: string): Asked {
  if (!Array.isArray(given) || typeof given[1] !== "string")
    throw new InvalidOptionError(field, kindOf(given), 'Pass a namespace and a key: [["docs"], "summary"].');
  const [namespace, key] = given;
  const labels = labelsOf(namespace, `${field}[0]`);
  return {
    address: { group: hashOf(labels), id: hashOf([...labels, key]) },
    // No item of a store or workspace has this address, so encrypted values of one don't open as the other's.
    at: { namespace: ["", "", cache, ...labels], key },
    askers: [namespace],
    eras: [],
  };
}

/** @throws InvalidOptionError */
export function listOf<T>(field: string, given: readonly T[]): readonly T[] {
  if (Array.isArray(given)) return given as readonly T[];
  throw new InvalidOptionError(field, kindOf(given), "Pass a list, as LangGraph's BaseCache takes it.");
}

/** @throws InvalidOptionError */
export function labelsOf(namespace: CacheNamespace, field: string): readonly string[] {
  if (Array.isArray(namespace) && namespace.every((label) => typeof label === "string")) return namespace;
  throw new InvalidOptionError(field, kindOf(namespace), 'Pass a list of texts: ["docs"].');
}

/** 32 hexadecimal digits that no other list of texts has. */
export function hashOf(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 32);
}
