import { createHash } from "node:crypto";
import { InvalidAddressError, InvalidOptionError } from "@stratigraph/core";

/**
 * The instance that works on a thread, by rendezvous hashing: the one with the largest score. A score is the SHA-256 of the UTF-8 bytes of
 * the instance's name, a line feed, and the thread's id; scores are compared as numbers, most significant byte first. So every process
 * that is given the same names answers the same, in any order of names and in any language. If an instance goes, its threads spread over
 * the others and no other thread moves; if one comes, it takes its share from all of them.
 *
 * Sending a thread to its instance saves reads, as that process has its values in memory. Nothing depends on it: two instances may work
 * on one thread at any time, and the head decides.
 * @param instances names of the instances that are up now, for example their host names. One that is there twice counts once.
 * @returns one of `instances`
 * @throws InvalidAddressError if the thread id is empty or no text; InvalidOptionError if there are no instances, or a name is empty or
 * has a line feed
 */
export function preferredInstance(threadId: string, instances: readonly string[]): string {
  if (typeof threadId !== "string" || threadId === "")
    throw new InvalidAddressError(
      "threadId",
      threadId === "" ? "empty text" : typeof threadId,
      "Pass the id of a thread.",
    );
  if (!Array.isArray(instances) || instances.length === 0)
    throw new InvalidOptionError(
      "instances",
      Array.isArray(instances) ? "an empty list" : typeof instances,
      "Name at least one instance that is up.",
    );
  const scored = instances.map((name) => ({ name: checked(name), score: scoreOf(name, threadId) }));
  return scored.reduce((best, next) => (next.score.compare(best.score) > 0 ? next : best)).name;
}

function scoreOf(instance: string, threadId: string): Buffer {
  return createHash("sha256").update(`${instance}\n${threadId}`).digest();
}

function checked(name: unknown): string {
  if (typeof name === "string" && name !== "" && !name.includes("\n")) return name;
  const found =
    typeof name !== "string" ? typeof name : name === "" ? "empty text" : "a name with a line feed";
  throw new InvalidOptionError("instances", found, "Names of instances are text of one line.");
}
