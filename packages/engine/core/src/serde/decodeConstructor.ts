import { decodeError } from "./decodeError.ts";
import type { JsonRecord } from "./records.ts";

/**
 * Revives LangGraph's record of a built-in (Set, Map, RegExp, Error, Uint8Array) whose parts are revived already. Anything else,
 * and a record of the wrong shape, stays plain data, as with LangGraph.
 */
export function decodeConstructor(record: JsonRecord): unknown {
  const { id, args, method } = record;
  if (!Array.isArray(id) || id.length !== 1 || !Array.isArray(args)) return record;
  const plain = method === undefined || method === null;
  const first: unknown = args[0];
  switch (id[0]) {
    case "Set":
      return plain && args.length === 1 && Array.isArray(first) ? new Set(first) : record;
    case "Map":
      return plain && args.length === 1 && areEntries(first) ? new Map(first) : record;
    case "RegExp":
      return (plain && args.length === 2 ? decodeRegExp(first, args[1]) : undefined) ?? record;
    case "Error":
      return plain && args.length === 1 && typeof first === "string"
        ? decodeError(first, asRecord(record.kwargs))
        : record;
    case "Uint8Array":
      return (plain || method === "from") && args.length === 1 && areBytes(first)
        ? new Uint8Array(first)
        : record;
    default:
      return record;
  }
}

function areEntries(value: unknown): value is [unknown, unknown][] {
  return Array.isArray(value) && value.every((entry) => Array.isArray(entry) && entry.length === 2);
}

function areBytes(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.every((item) => typeof item === "number" && Number.isInteger(item) && item >= 0 && item <= 255)
  );
}

function decodeRegExp(source: unknown, flags: unknown): RegExp | undefined {
  if (typeof source !== "string" || typeof flags !== "string") return undefined;
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}

function asRecord(value: unknown): JsonRecord {
  return typeof value === "object" && value !== null ? (value as JsonRecord) : {};
}
