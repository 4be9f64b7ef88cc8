import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import type { ThreadSource } from "../contract/source.ts";
import type { ThreadTarget } from "../contract/target.ts";

/** @throws InvalidOptionError that names the argument */
export function checkSource(argument: string, source: ThreadSource): void {
  const { plan, threads } = membersOf(source);
  if (typeof plan !== "function" || typeof threads !== "function")
    refuse(argument, source, "Pass what openSource(url), saverSource(saver) or tierSource(saver) returns.");
}

/** @throws InvalidOptionError that names the argument */
export function checkTarget(argument: string, target: ThreadTarget): void {
  const { write, finish } = membersOf(target);
  if (typeof write !== "function" || typeof finish !== "function")
    refuse(argument, target, "Pass what openTarget(url) or saverTarget(saver) returns.");
}

/** @throws InvalidOptionError that names the argument */
export function checkSaver(argument: string, saver: TierSaver): void {
  if (!isOurs(saver))
    refuse(
      argument,
      saver,
      "Pass a saver of Stratigraph, such as createCheckpointer returns. Other savers are read with saverSource, and written with saverTarget.",
    );
}

/** Whether a saver is one of Stratigraph's, also of another copy of core. */
export function isOurs(saver: unknown): saver is TierSaver {
  const { tier, coder } = membersOf(saver);
  return typeof membersOf(tier)["append"] === "function" && typeof membersOf(coder)["encode"] === "function";
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  const { constructor } = membersOf(value);
  return (typeof constructor === "function" && constructor.name) || "an object";
}

/** The error shows only the kind of the value: a text may be a URL with a password. */
function refuse(argument: string, found: unknown, advice: string): never {
  throw new InvalidOptionError(argument, kindOf(found), advice);
}
