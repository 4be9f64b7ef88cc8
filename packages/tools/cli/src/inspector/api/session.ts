import type { Effect, Operation } from "../../operations/index.ts";
import { version } from "../../version.ts";
import { offered } from "./operations.ts";

/** The first data that the page asks for. They are answered while the storage is down, too. */
export interface Session {
  readonly version: string;
  /** Which storage it is, for people. */
  readonly storage: string;
  /** Where the settings came from, for people. */
  readonly origin: string;
  readonly allow: readonly Effect[];
  readonly graphs: readonly string[];
  readonly operations: readonly Pick<Operation, "name" | "effect" | "summary">[];
}

/** Describes an inspector to its page. */
export function sessionOf(given: Pick<Session, "storage" | "origin" | "allow" | "graphs">): Session {
  const operations = offered.map(({ name, effect, summary }) => ({ name, effect, summary }));
  return { version, ...given, operations };
}
