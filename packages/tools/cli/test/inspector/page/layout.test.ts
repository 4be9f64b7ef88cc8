import { expect, test } from "vitest";
import { MainLine, TreeLayout, type TreeNode, type TreeRow } from "../../../page/tree/layout.ts";
import { HistoryLayout } from "../../../page/views/thread/historyLayout.ts";
import type { HistoryItem, Loaded } from "../../../page/views/thread/historyPages.ts";

/** Nodes written as "child: parent, merged"; a "!" behind the child says that it lost a race. */
function nodes(...lines: readonly string[]): TreeNode[] {
  return lines.map((line) => {
    const [name = "", parents = ""] = line.split(":");
    return {
      checkpoint: name.replace("!", ""),
      drawn: parents.split(",").flatMap((parent) => (parent.trim() === "" ? [] : [parent.trim()])),
      ...(name.endsWith("!") ? { lostTo: "x" } : {}),
    };
  });
}

function rows(head: string | undefined, all: readonly TreeNode[]): TreeRow[] {
  const layout = new TreeLayout(head);
  layout.add(all);
  return layout.rows;
}

/** A row as text: its lane, and its lines with their lanes. */
function drawn({ lane, lines }: TreeRow): string {
  const parts = lines.map((line) => `${line.kind}${line.lane}${line.dashed ? "!" : ""}`);
  return [`@${lane}`, ...parts].join(" ");
}

function mainLineOf(nodes: readonly TreeNode[], head: string | undefined): ReadonlySet<string> {
  const line = new MainLine(head);
  // In two parts, as pages come.
  line.add(nodes.slice(0, 1));
  line.add(nodes.slice(1));
  return line.checkpoints;
}

test("a line without branches is one lane, which begins at the head and ends at the root", () => {
  expect(rows("c", nodes("c: b", "b: a", "a")).map(drawn)).toEqual(["@0 out0", "@0 in0 out0", "@0 in0"]);
});

test("the main line has the first lane, also below what is newer than the head", () => {
  const all = nodes("d!: c", "c!: a", "b: a", "a");
  expect(rows("b", all).map(drawn)).toEqual([
    "@1 out1!",
    "@1 in1! out1!",
    "@0 through1! out0",
    "@0 in0 in1!",
  ]);
  expect(rows("b", all)[2]!.color).toBe(0);
});

test("what is merged gets a lane of its own down to where it departed", () => {
  const all = nodes("m: b, x", "x: a", "b: a", "a");
  expect(rows("m", all).map(drawn)).toEqual([
    "@0 out0 out1",
    "@1 through0 in1 out1",
    "@0 in0 through1 out0",
    "@0 in0 in1",
  ]);
});

test("a lane that ended is used again, and colours of lanes beside each other differ", () => {
  const all = nodes("e: c", "d: c", "c: a", "b: a", "a");
  const laid = rows("e", all);
  expect(laid.map(drawn)).toEqual([
    "@0 out0",
    "@1 through0 out1",
    "@0 in0 in1 out0",
    "@1 through0 out1",
    "@0 in0 in1",
  ]);
  expect(laid[1]!.color).not.toBe(laid[0]!.color);
  expect(laid.map(({ width }) => width)).toEqual([1, 2, 2, 2, 2]);
});

test("lines go on from row to row: what leaves one at the bottom comes into the next at the top", () => {
  // A thread of many branches, from a generator with a fixed beginning.
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const all: TreeNode[] = [];
  for (let n = 399; n >= 0; n -= 1) {
    const parents = n === 0 ? [] : [n - 1 - random(Math.min(n, 9))];
    if (n > 10 && random(6) === 0) parents.push(random(n));
    all.push({ checkpoint: String(n), drawn: [...new Set(parents)].map(String) });
  }
  const laid = rows("399", all);
  const bottom = ({ lines }: TreeRow) => lanesOf(lines.filter(({ kind }) => kind !== "in"));
  const top = ({ lines }: TreeRow) => lanesOf(lines.filter(({ kind }) => kind !== "out"));
  const lanesOf = (lines: TreeRow["lines"]) =>
    [...new Set(lines.map(({ lane, color }) => `${lane}/${color}`))].sort();
  for (const [n, row] of laid.slice(1).entries()) expect(top(row), `row ${n + 1}`).toEqual(bottom(laid[n]!));
  expect(bottom(laid.at(-1)!)).toEqual([]);
});

test("pages that are added one after the other make the same tree as all at once", () => {
  const all = nodes("f: d", "e!: c", "d: c, b", "c: a", "b: a", "a");
  const layout = new TreeLayout("f");
  for (const node of all) layout.add([node]);
  expect(layout.rows).toEqual(rows("f", all));
});

test("20,000 checkpoints are laid out", () => {
  const all = Array.from({ length: 20_000 }, (_, n) => ({
    checkpoint: String(n),
    drawn: n === 19_999 ? [] : [String(n + 1)],
  }));
  const laid = rows("0", all);
  expect(laid).toHaveLength(20_000);
  expect(mainLineOf(all, "0").size).toBe(20_000);
});

test("the main line leaves out side branches and what was merged", () => {
  const all = nodes("m: b, x", "x: a", "y!: a", "b: a", "a");
  expect([...mainLineOf(all, "m")]).toEqual(["m", "b", "a"]);
  expect(mainLineOf(all, undefined).size).toBe(0);
});

test("a history that is loaded page by page is laid out as one that came at once, and anew where it changed", () => {
  const item = (n: number, bytes = n): HistoryItem =>
    ({ checkpoint: String(n), drawn: n === 0 ? [] : [String(n - 1)], bytes }) as unknown as HistoryItem;
  const all = Array.from({ length: 30 }, (_, n) => item(29 - n));
  const loaded = (items: readonly HistoryItem[], head = "29"): Loaded => ({
    thread: "ada",
    items,
    head,
    origin: undefined,
    missing: [],
    forksCut: false,
    cursor: undefined,
  });
  const paged = new HistoryLayout();
  let grown = paged.of(loaded(all.slice(0, 10)));
  for (const to of [10, 20, 30]) grown = paged.of(loaded(all.slice(0, to)));
  const atOnce = new HistoryLayout().of(loaded(all));
  expect(grown).toEqual(atOnce);
  expect([grown.main.size, grown.places.get("0"), grown.mostBytes]).toEqual([30, 29, 29]);
  const fresh = [item(30, 7), ...Array.from({ length: 30 }, (_, n) => item(29 - n, 1))];
  const changed = paged.of(loaded(fresh, "30"));
  expect(changed).toEqual(new HistoryLayout().of(loaded(fresh, "30")));
  expect([changed.rows.length, changed.mostBytes]).toEqual([31, 7]);
});
