import { InvalidOptionError, TierSaver } from "@stratigraph/core";

/**
 * Checks the saver that a function was given.
 * @param what the function's name
 * @throws InvalidOptionError that says what to pass instead, for example of a graph or of another project's saver
 */
export function checkSaver(what: string, given: unknown): TierSaver {
  if (isSaver(given)) return given;
  const { checkpointer } = Object(given) as { checkpointer?: unknown };
  const advice = isSaver(checkpointer)
    ? `${what} takes the saver itself: pass graph.checkpointer, or the saver that the graph was compiled with.`
    : `${what} takes one of Stratigraph's savers: MemorySaver, PostgresSaver, RedisSaver, TieredSaver, or what createCheckpointer opened.`;
  throw new InvalidOptionError("saver", kindOfValue(given), advice);
}

/** Whether a value is one of Stratigraph's savers, even if another copy of the package made it. */
export function isSaver(given: unknown): given is TierSaver {
  if (given instanceof TierSaver) return true;
  const { tier, coder } = Object(given) as { tier?: unknown; coder?: unknown };
  return typeof tier === "object" && tier !== null && typeof coder === "object" && coder !== null;
}

/** Describes a value in a few words, for errors that name what was found. */
export function kindOfValue(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  if (Array.isArray(given)) return "an array";
  if (typeof given !== "object")
    return typeof given === "function" ? "a function" : `the ${typeof given} ${String(given).slice(0, 60)}`;
  if (given instanceof Promise) return "a promise (await it)";
  const { name } =
    (Object.getPrototypeOf(given) as { constructor?: { name?: string } } | null)?.constructor ?? {};
  return name === undefined || name === "" || name === "Object" ? "an object" : `a ${name}`;
}
