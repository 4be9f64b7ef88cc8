import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, validId } from "@stratigraph/core/internal";
import type { JournalEvent } from "../log/entry.ts";
import type { CutOptions } from "./cut.ts";
import type { EraseOptions } from "./erase.ts";
import type { TrailHead } from "./line.ts";
import type { ForgetOptions, ResolveOptions } from "./operator.ts";
import type { TrailOptions } from "./trail.ts";

/** Options of {@link Journal.verify}. */
export interface VerifyOptions {
  /** A head that was kept elsewhere. */
  readonly head?: TrailHead | undefined;
}

/** @throws InvalidOptionError */
export function checkTrailOptions(options: TrailOptions): void {
  checkOptions<TrailOptions>("trail", options, {
    tool: true,
    since: true,
    until: true,
    types: true,
    from: true,
    to: true,
    limit: true,
  });
  checkDate("since", options.since);
  checkDate("until", options.until);
  for (const name of ["from", "to", "limit"] as const) checkCount(name, options[name]);
  checkText("tool", options.tool);
  const { types = [] } = options;
  if (!Array.isArray(types)) throw new InvalidOptionError("types", types, "Pass a list of types of entries.");
  for (const type of types)
    if (!Object.hasOwn(entryTypes, type as string))
      throw new InvalidOptionError("types", type, `Use some of ${Object.keys(entryTypes).join(", ")}.`);
}

const entryTypes: Readonly<Record<JournalEvent["type"], true>> = {
  session: true,
  claimed: true,
  succeeded: true,
  read: true,
  failed: true,
  unknown: true,
  suspended: true,
  denied: true,
  approved: true,
  resolved: true,
  repeats: true,
  late: true,
  returned: true,
  forgotten: true,
  note: true,
  erased: true,
  folded: true,
  cut: true,
};

/** @throws InvalidOptionError */
export function checkVerifyOptions(options: VerifyOptions): void {
  checkOptions<VerifyOptions>("verify", options, { head: true });
  checkHead(options.head);
}

/** @throws InvalidOptionError */
export function checkHead(head: TrailHead | undefined): void {
  if (head === undefined) return;
  const { seq, hash } = Object(head) as Partial<TrailHead>;
  if (!Number.isSafeInteger(seq) || seq! < 0 || typeof hash !== "string")
    throw new InvalidOptionError("head", head, "Pass { seq, hash }, as journal.head() gave it.");
  if (seq === 0 && hash !== "")
    throw new InvalidOptionError("head.hash", hash, 'Pass "" where seq is 0: there is no entry yet.');
}

/** @throws InvalidOptionError */
export function checkResolveOptions(options: ResolveOptions): void {
  checkOptions<ResolveOptions>("resolve", options, {
    threadId: true,
    happened: true,
    result: true,
    author: true,
  });
  validId("threadId", (Object(options) as Partial<ResolveOptions>).threadId);
  checkText("author", options.author);
  if (typeof options.happened !== "boolean")
    throw new InvalidOptionError(
      "happened",
      options.happened,
      "Say whether the call happened: true or false.",
    );
}

/** @throws InvalidOptionError */
export function checkForgetOptions(options: ForgetOptions): void {
  checkOptions<ForgetOptions>("forget", options, { threadId: true, reason: true, author: true });
  validId("threadId", (Object(options) as Partial<ForgetOptions>).threadId);
  checkText("author", options.author);
  if (typeof options.reason !== "string")
    throw new InvalidOptionError("reason", options.reason, "Say why the call may run again, for the trail.");
}

/** @throws InvalidOptionError */
export function checkEraseOptions(options: EraseOptions = {}): void {
  checkOptions<EraseOptions>("erase", options, { call: true, before: true, author: true });
  checkDate("before", options.before);
  checkText("call", options.call);
  checkText("author", options.author);
  if (options.call === undefined && options.before === undefined)
    throw new InvalidOptionError(
      "erase",
      "neither call nor before",
      "Say what to erase: a call, by its fingerprint, or what is before a time.",
    );
}

/** @throws InvalidOptionError */
export function checkCutOptions(options: CutOptions): void {
  checkOptions<CutOptions>("cut", options, { before: true, author: true });
  checkDate("before", (Object(options) as Partial<CutOptions>).before ?? null);
  checkText("author", options.author);
}

/** @throws InvalidOptionError */
export function checkText(name: string, text: unknown): void {
  if (text === undefined || typeof text === "string") return;
  throw new InvalidOptionError(name, text, "Pass text.");
}

/** @throws InvalidOptionError */
export function checkDate(name: string, date: unknown): void {
  if (date === undefined || (date instanceof Date && !Number.isNaN(date.getTime()))) return;
  throw new InvalidOptionError(name, date, "Pass a Date.");
}

function checkCount(name: string, count: number | undefined): void {
  if (count === undefined || (Number.isSafeInteger(count) && count >= 0)) return;
  throw new InvalidOptionError(name, count, "Pass a whole number.");
}
