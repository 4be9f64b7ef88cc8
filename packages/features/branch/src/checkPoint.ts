import { InvalidAddressError } from "@stratigraph/core";
import { validId } from "@stratigraph/core/internal";
import { kindOfValue } from "./checkSaver.ts";
import type { Point } from "./readPoint.ts";

/** Wrong names for the properties of a point. Other names are allowed, because forks and branches can be passed as points. */
const otherNames: Readonly<Record<string, string>> = {
  thread_id: "threadId",
  threadID: "threadId",
  thread: "threadId",
  checkpoint_id: "checkpointId",
  checkpointID: "checkpointId",
  checkpoint: "checkpointId",
  checkpoint_ns: "namespace",
  ns: "namespace",
};

/**
 * Checks the point that a function was given. A thread id stands for the thread's head.
 * @param field the name of the argument
 * @throws InvalidAddressError that says what to pass
 */
export function checkPoint(field: string, given: unknown): Point {
  if (typeof given === "string") return { threadId: checkId(field, given) };
  const advice = "Pass a thread id, or { threadId, checkpointId }.";
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new InvalidAddressError(field, kindOfValue(given), advice);
  if ("configurable" in given) {
    const names =
      "{ threadId: config.configurable.thread_id, checkpointId: config.configurable.checkpoint_id }";
    throw new InvalidAddressError(field, "a config of LangGraph's", `Pass a thread id, or ${names}.`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(otherNames, name))
      throw new InvalidAddressError(
        `${field}.${name}`,
        "a name that a point doesn't have",
        `Did you mean ${otherNames[name]!}?`,
      );
  }
  const { threadId, namespace, checkpointId } = given as Partial<Point>;
  return {
    threadId: checkId(`${field}.threadId`, threadId),
    namespace:
      namespace === undefined ? undefined : checkId(`${field}.namespace`, namespace, { empty: true }),
    checkpointId: checkpointId === undefined ? undefined : checkId(`${field}.checkpointId`, checkpointId),
  };
}

/** Checks the thread that a function was given, by its id or as `{ threadId }`. @throws InvalidAddressError */
export function checkThread(field: string, given: unknown): string {
  const { threadId, namespace = "", checkpointId } = checkPoint(field, given);
  if (namespace === "" && checkpointId === undefined) return threadId;
  const found = checkpointId === undefined ? "one namespace" : "one checkpoint";
  throw new InvalidAddressError(
    field,
    `${found} of a thread`,
    "It is the thread itself that is meant here: pass its id.",
  );
}

/** Checks an id. @throws InvalidAddressError */
export function checkId(field: string, given: unknown, options: { empty?: boolean } = {}): string {
  if (typeof given === "string") return validId(field, given, options);
  throw new InvalidAddressError(field, kindOfValue(given), "Pass a string.");
}
