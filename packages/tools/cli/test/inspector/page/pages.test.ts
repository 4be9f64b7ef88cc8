import { expect, test } from "vitest";
import {
  append,
  begin,
  refresh,
  type HistoryItem,
  type Loaded,
} from "../../../page/views/thread/historyPages.ts";
import { leastOf } from "../../../page/views/compare/leastOf.ts";
import { changes, mergePages } from "../../../page/views/threads/mergePages.ts";

const item = (checkpoint: string, more: Partial<HistoryItem> = {}) =>
  ({ checkpoint, ...more }) as HistoryItem;
const page = (ids: string, cursor?: string, more: Partial<HistoryItem> = {}) => ({
  thread: "ada",
  namespace: "",
  items: [...ids].map((id) => item(id, more)),
  lanes: [ids[0] ?? null],
  missing: [],
  forksCut: false,
  ...(cursor === undefined ? {} : { cursor }),
});
const ids = ({ items }: Loaded) => items.map(({ checkpoint }) => checkpoint).join("");

test("pages of a history join", () => {
  const both = append(begin(page("fed", "1")), page("cba"));
  expect([ids(both), both.cursor, both.head]).toEqual(["fedcba", undefined, "f"]);
});

test("new checkpoints come on top, and what was loaded below stays", () => {
  const known = append(begin(page("fed", "1")), page("cb", "2"));
  const fresh = refresh(known, page("hgf", "3", { head: true }));
  expect([ids(fresh), fresh.cursor, fresh.head]).toEqual(["hgfedcb", "2", "h"]);
  expect(fresh.items[2]).toMatchObject({ checkpoint: "f", head: true });
});

test("items that were removed from the reloaded part are gone", () => {
  const known = append(begin(page("fed", "1")), page("cb", "2"));
  expect(ids(refresh(known, page("fdc", "3")))).toBe("fdcb");
  expect(ids(refresh(known, page("fe")))).toBe("fe");
});

test("a page that doesn't reach what was loaded begins anew, without a gap", () => {
  const known = begin(page("cba", "1"));
  const fresh = refresh(known, page("zyx", "9"));
  expect([ids(fresh), fresh.cursor]).toEqual(["zyx", "9"]);
});

const thread = (text: string) => ({ thread: text[0]!, writtenAt: text.slice(1) });

test("threads that were written to move to the top, and come once", () => {
  const known = ["a1", "b1", "c1"].map(thread);
  const newest = ["c2", "d1", "a1"].map(thread);
  expect(mergePages(newest, known).map(({ thread }) => thread)).toEqual(["c", "d", "a", "b"]);
  expect(changes(newest, known)).toBe(2);
  expect(changes(known, known)).toBe(0);
});

test("a thread that continues or asks within the minute that its row shows counts as changed", () => {
  const row = { thread: "ada", writtenAt: "2026-11-23T12:00:00Z", checkpoint: "1", details: { step: 1 } };
  const asks = { ...row, details: { step: 1, waits: "interrupt" } };
  expect(changes([{ ...row, details: { ...row.details } }], [row])).toBe(0);
  expect(changes([{ ...row, checkpoint: "2" }], [row])).toBe(1);
  expect(changes([asks], [row])).toBe(1);
});

test("the least is shown only among figures that count from the same checkpoint", () => {
  const row = (steps: number, since?: string) => ({ steps, since });
  const least = (...rows: ReturnType<typeof row>[]) => leastOf(rows, ({ steps }) => steps);
  expect(least(row(28), row(1))).toBe(1);
  expect(least(row(28, "a"), row(1, "a"))).toBe(1);
  expect(least(row(28), row(1, "a"))).toBeUndefined();
  expect(least(row(2), row(2))).toBeUndefined();
  expect(least(row(2))).toBeUndefined();
});
