import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import type { OptionNames } from "@stratigraph/core/internal";
import type { Access, Context } from "../operations/index.ts";
import { Redaction } from "../operations/values/redaction.ts";

/** What a server shows, and what its clients may do. */
export interface ServedOptions {
  /** The saver of the storage, or a function that opens it. After a failure the function is called again. The caller closes the saver. */
  readonly saver: TierSaver | (() => Promise<TierSaver>);
  /** What clients may do. Default: only "read". */
  readonly allow?: readonly Access[] | undefined;
  /** Names of hosts, besides those of loopback, under which it is reached. Default: none. "*": any IP address. */
  readonly hosts?: readonly string[] | undefined;
  /** Names of the graphs that `graph` knows. Default: none. */
  readonly graphs?: readonly string[] | undefined;
  /** Returns a graph, as in the context of operations. Default: there are no graphs. */
  readonly graph?: Context["graph"] | undefined;
  /** Paths of values that aren't shown, such as `messages.*.content`. Default: none. */
  readonly redact?: readonly string[] | undefined;
  /** The keys that journals are signed with, as in the context of operations. Default: none. */
  readonly sign?: Context["sign"];
  /** The folder in which relative paths begin. Default: the current one. */
  readonly cwd?: string | undefined;
  /** The storage's name, for people, without a password. Default: `origin`. */
  readonly storage?: string | undefined;
  /** Where the settings came from, for people. Default: "this process". */
  readonly origin?: string | undefined;
  /** How long to wait between two looks at the threads that clients watch, in milliseconds. Default 1000, at least 10. */
  readonly pollMs?: number | undefined;
  /** Called with failures that are no errors of Stratigraph: bugs in it or in code of graphs, and requests that break MCP. Default: none. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The names of these options. */
export const servedOptionNames: OptionNames<ServedOptions> = {
  saver: true,
  allow: true,
  hosts: true,
  graphs: true,
  graph: true,
  redact: true,
  sign: true,
  cwd: true,
  storage: true,
  origin: true,
  pollMs: true,
  onError: true,
};

/** How many characters a chosen token must have at least. */
const leastToken = 16;

const effects: ReadonlySet<unknown> = new Set<Access>(["read", "write", "destroy"]);

/** @throws InvalidOptionError */
export function checkServedOptions(options: ServedOptions): void {
  const { saver, allow = [], pollMs = 1000 } = options;
  if (typeof saver !== "function" && typeof saver?.tier?.peek !== "function")
    throw new InvalidOptionError("saver", typeof saver, "Pass a saver of Stratigraph, or what opens one.");
  checkEffects("allow", allow);
  checkRedact(options.redact ?? []);
  if (!(pollMs >= 10 && pollMs <= 3_600_000))
    throw new InvalidOptionError("pollMs", pollMs, "Pass milliseconds, from 10 to 3600000.");
}

/** @throws InvalidOptionError */
export function checkEffects(field: string, allow: readonly unknown[]): void {
  for (const effect of allow)
    if (!effects.has(effect))
      throw new InvalidOptionError(field, effect, 'Choose from "read", "write", "destroy".');
}

/** Refuses invalid paths before anything is shown. @throws InvalidOptionError */
function checkRedact(paths: readonly string[]): void {
  for (const path of paths)
    try {
      if (!new Redaction([path]).isActive) throw new InvalidOptionError("path", path, "It names nothing.");
    } catch (error) {
      const hint = "Write paths that begin with a channel, such as messages.*.content.";
      throw new InvalidOptionError("redact", path, `${hint} ${error instanceof Error ? error.message : ""}`);
    }
}

/** Refuses a token that could be guessed. The error doesn't show it. @throws InvalidOptionError */
export function checkToken(field: string, token: string): void {
  if (typeof token === "string" && token.length >= leastToken && /^[\x21-\x7e]+$/.test(token)) return;
  throw new InvalidOptionError(
    field,
    typeof token === "string" ? `a text of ${token.length} characters` : typeof token,
    `Pass at least ${leastToken} characters that nobody can guess: ASCII without spaces.`,
  );
}
