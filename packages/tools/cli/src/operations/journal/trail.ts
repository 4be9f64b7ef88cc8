import { resolve } from "node:path";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { journalThread, openJournal } from "./openJournal.ts";

/** Exports the trail of a thread. */
export const trail = operation({
  name: "trail",
  group: "transfer",
  // It changes nothing in the storage, but writes to the given destination.
  effect: "write",
  summary:
    "Write a thread's journal to a file, with arguments and results: for verifyTrail, replayTrail, an archive.",
  args: ["thread", "to"],
  examples: ["stratigraph trail ada ada.trail.jsonl"],
  input: z.object({
    thread: fields.thread,
    to: z.string().min(1).describe("The file, of lines of JSON. It is written anew."),
  }),
  output: z.object({
    thread: z.string(),
    to: z.string().describe("The file, as an absolute path."),
    head: z
      .string()
      .optional()
      .describe(
        "number:hash of the last entry. Keep it elsewhere, and pass it to audit. Absent where there is no journal.",
      ),
  }),
  async run({ thread, to }, context) {
    const journal = await openJournal(context);
    const threadId = await journalThread(journal, thread);
    const file = resolve(context.cwd, to);
    if ((await journal.head(threadId)).seq === 0) return { thread: threadId, to: file };
    const { seq, hash } = await journal.export(threadId, file);
    return { thread: threadId, to: file, head: `${seq}:${hash}` };
  },
  *render({ thread, to, head }) {
    if (head === undefined) {
      yield `Thread ${shown(thread)} has no journal.`;
      return;
    }
    yield `Wrote it to ${shown(to)}.`;
    yield `Last entry: ${head}`;
  },
});
