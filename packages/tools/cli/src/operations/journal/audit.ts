import type { Journal, Verification } from "@stratigraph/journal";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { journalThread, openJournal } from "./openJournal.ts";

/** Verifies the trail of a thread. */
export const audit = operation({
  name: "audit",
  group: "look",
  effect: "read",
  summary:
    "Verify a thread's journal: that no entry was changed, inserted, removed or swapped, as far as that can be proved.",
  args: ["thread"],
  examples: ["stratigraph audit ada"],
  input: z.object({
    thread: fields.thread,
    head: z
      .string()
      .regex(/^\d+:[0-9a-f]{64}$/, "write number:hash, as an earlier audit printed it")
      .optional()
      .describe(
        "number:hash of an earlier last entry, kept elsewhere: proves that nothing up to it was removed or made anew.",
      ),
  }),
  output: z.object({
    thread: z.string(),
    status: z
      .enum(["verified", "broken", "unproven", "empty"])
      .describe(
        "unproven: entries are signed with keys that aren't here, so only their order could be checked.",
      ),
    entries: z.number(),
    from: z.number().describe("Number of the first entry: 1, or the one behind those that were cut off."),
    to: z.number().describe("Number of the last one."),
    erased: z.number().optional().describe("How many entries had their arguments or results erased."),
    brokenAt: z
      .number()
      .optional()
      .describe("Number of the first entry that isn't as it was made; 0 if that isn't known."),
    why: z.string().optional().describe("What is wrong with it, or which keys are missing."),
    signed: z.number().describe("How many entries are signed with a key."),
    keys: z.array(z.string()).describe("Names of the keys that they are signed with."),
    missing: z
      .array(z.string())
      .describe("The keys that aren't here. Add them to journal.keys in the config."),
    head: z
      .string()
      .optional()
      .describe("number:hash of the last entry. Keep it elsewhere, and pass it to a later audit."),
    proves: z.array(z.string()).describe("What this proves, in sentences."),
    open: z.array(z.string()).describe("What this doesn't prove, and what that would take."),
  }),
  async run({ thread, head }, context) {
    const journal = await openJournal(context);
    const threadId = await journalThread(journal, thread);
    const seen = await looked(journal, threadId, (done) =>
      context.progress({ done, unit: "entries", at: threadId }),
    );
    const known = new Set(Object.keys(context.sign?.keys ?? {}));
    const missing = [...seen.keys].filter((key) => !known.has(key));
    const told = { thread: threadId, signed: seen.signed, keys: [...seen.keys], missing };
    if (seen.isRead && seen.entries === 0 && head === undefined)
      return { ...told, status: "empty" as const, entries: 0, from: 0, to: 0, proves: [], open: [] };
    const last = seen.last === undefined ? {} : { head: `${seen.last.seq}:${seen.last.hash}` };
    const range = { entries: seen.entries, from: seen.first, to: seen.last?.seq ?? 0 };
    if (missing.length > 0 && seen.broken === undefined)
      return {
        ...told,
        ...range,
        ...last,
        status: "unproven" as const,
        why: `Entries are signed with ${missing.join(", ")}. Name the key in the config: journal.keys.`,
        proves: ["Every entry names the one before it, and no number is missing."],
        open: ["Whether any entry was changed: that takes the key."],
      };
    const found =
      seen.broken ?? (await journal.verify(threadId, head === undefined ? {} : { head: headOf(head) }));
    if (!found.ok)
      return {
        ...told,
        ...range,
        ...last,
        status: "broken" as const,
        brokenAt: found.brokenAt,
        why: found.why,
        proves: [],
        open: [],
      };
    const { entries, from, to, erased } = found;
    const { proves, open } = proof(seen.signed > 0, head);
    return { ...told, ...last, status: "verified" as const, entries, from, to, erased, proves, open };
  },
  *render({ thread, status, entries, from, to, erased = 0, brokenAt, why, keys, head, proves, open }) {
    if (status === "empty") {
      yield `Thread ${shown(thread)} has no journal.`;
      return;
    }
    const count = entries === 1 ? "1 entry" : `${entries} entries`;
    if (status === "broken") yield `BROKEN at entry ${brokenAt}: ${shown(why ?? "")}`;
    else if (status === "unproven") yield `NOT VERIFIED: ${shown(why ?? "")}`;
    else
      yield `Chain verified: ${count}, ${from} to ${to}${erased === 0 ? "" : `, ${erased} with values erased`}.`;
    if (keys.length > 0) yield `Signed with ${shown(keys.join(", "))}.`;
    for (const line of proves) yield `+ ${line}`;
    for (const line of open) yield `- ${line}`;
    if (head !== undefined) yield `Last entry: ${head}`;
  },
  found: ({ status }) => status === "broken",
});

interface Looked {
  readonly entries: number;
  readonly first: number;
  readonly last: { readonly seq: number; readonly hash: string } | undefined;
  readonly signed: number;
  readonly keys: ReadonlySet<string>;
  /** Whether all of them can be read. */
  readonly isRead: boolean;
  /** What is found broken without any keys. */
  readonly broken: Extract<Verification, { ok: false }> | undefined;
}

/** Goes through the entries: which keys they are signed with, and whether each follows the one before it. */
async function looked(journal: Journal, threadId: string, tell: (done: number) => void): Promise<Looked> {
  const keys = new Set<string>();
  let [entries, first, signed] = [0, 0, 0];
  let last: Looked["last"];
  let broken: Looked["broken"];
  try {
    for await (const { seq, hash, prev, keyId } of journal.trail(threadId)) {
      entries += 1;
      if (first === 0) first = seq;
      if (keyId !== undefined) {
        signed += 1;
        keys.add(keyId);
      }
      if (last !== undefined && seq !== last.seq + 1)
        broken ??= { ok: false, brokenAt: last.seq + 1, why: `entry ${last.seq + 1} is missing` };
      else if (last !== undefined && prev !== last.hash)
        broken ??= {
          ok: false,
          brokenAt: last.seq,
          why: `entry ${last.seq} isn't the one that entry ${seq} was made after`,
        };
      last = { seq, hash };
      if (entries % 256 === 0) tell(entries);
    }
  } catch {
    // An entry can't be read: verifying reports which one, or that all are in an archive.
    return { entries, first, last, signed, keys, isRead: false, broken: undefined };
  }
  return { entries, first, last, signed, keys, isRead: true, broken };
}

function headOf(text: string): { seq: number; hash: string } {
  const [seq = "", hash = ""] = text.split(":");
  return { seq: Number(seq), hash };
}

function proof(isSigned: boolean, head: string | undefined): { proves: string[]; open: string[] } {
  const proves = [
    isSigned
      ? "No entry was changed, inserted, swapped or removed in the middle by anybody who doesn't have the key."
      : "No entry was changed, inserted, swapped or removed in the middle, unless all later entries were made anew.",
  ];
  const open: string[] = [];
  if (head === undefined)
    open.push(
      "Entries at the end may have been removed: keep the last entry's hash elsewhere, and pass it as `head` next time.",
    );
  else proves.push(`Nothing up to entry ${head.split(":")[0]} was removed or made anew.`);
  if (!isSigned)
    open.push("Anybody who can write to the storage could make the whole trail anew: sign it with a key.");
  return { proves, open };
}
