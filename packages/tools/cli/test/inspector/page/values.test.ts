import { formatPath } from "../../../src/operations/values/formatPath.ts";
import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@stratigraph/core";
import type { Path } from "../../../src/operations/index.ts";
import { cut } from "../../../src/operations/values/cut.ts";
import { resolve } from "../../../src/operations/values/resolve.ts";
import { expect, test } from "vitest";
import { describe as described, inline, isPartGap } from "../../../page/values/describe.ts";
import { filled } from "../../../page/values/fill.ts";
import { itemsOf, lengthOf } from "../../../page/values/items.ts";
import { jsonLines } from "../../../page/values/jsonTokens.ts";
import { Outline } from "../../../page/values/outline.ts";
import * as records from "../../../page/values/records.ts";
import { idsTo, matches, openFor } from "../../../page/values/findRows.ts";
import { pageAround, rowsOf, type Row } from "../../../page/values/rows.ts";

const { serde } = new MemorySaver();

/** JSON as the serializer writes it. */
async function json(value: unknown): Promise<unknown> {
  return JSON.parse(Buffer.from((await serde.dumpsTyped(value))[1]).toString());
}

const kinds = {
  date: new Date(0),
  map: new Map<unknown, unknown>([
    ["a", 1],
    [{ k: 1 }, [1, 2]],
  ]),
  set: new Set([1, "two"]),
  bigint: 12n,
  nan: Number.NaN,
  none: undefined,
  bytes: new Uint8Array([1, 2, 3, 250]),
  regexp: /a.*b/gi,
  url: new URL("https://example.org/a"),
  error: new TypeError("It went wrong"),
  message: new HumanMessage({ content: "Hello", id: "m1" }),
  plain: { lc: 2, type: "undefined" },
  "a.b": null,
};

test("records of the serializer are described as the values that they stand for", async () => {
  const value = await json(kinds);
  const parts = Object.fromEntries(
    described(value).parts!.flatMap((part) => (isPartGap(part) ? [] : [[part.label, described(part.value)]])),
  );
  expect(parts["date"]).toMatchObject({ name: "Date", text: "1970-01-01T00:00:00.000Z" });
  expect(parts["map"]).toMatchObject({ name: "Map", count: 2 });
  expect(parts["map"]!.parts).toMatchObject([
    { label: '"a"', steps: [0, 1], value: 1 },
    { label: "{k: 1}", steps: [1, 1], value: [1, 2] },
  ]);
  expect(parts["set"]).toMatchObject({ name: "Set", count: 2 });
  expect(parts["bigint"]).toMatchObject({ kind: "number", text: "12n" });
  expect(parts["nan"]).toMatchObject({ kind: "number", text: "NaN" });
  expect(parts["none"]).toMatchObject({ kind: "nothing", text: "undefined" });
  expect(parts["bytes"]).toMatchObject({ name: "Uint8Array", text: "4 bytes" });
  expect(parts["regexp"]).toMatchObject({ text: "/a.*b/gi" });
  expect(parts["url"]).toMatchObject({ name: "URL", text: "https://example.org/a" });
  expect(parts["error"]).toMatchObject({ kind: "error", name: "TypeError", text: "It went wrong" });
  expect(parts["message"]).toMatchObject({ kind: "object", name: "HumanMessage" });
  expect(parts["plain"]).toMatchObject({ kind: "object", count: 2 });
  expect(inline(value, 4000)).toContain('message: HumanMessage {content: "Hello"');
  expect(jsonLines(value)).toContain("date: Date(1970-01-01T00:00:00.000Z)");
});

test("every path that the tree shows leads, by the rules of operations, to the value that it shows", async () => {
  const value = await json({ ...kinds, deep: [{ list: [new AIMessage({ content: "a", id: "x" }), [1]] }] });
  let seen = 0;
  const visit = (at: unknown, path: readonly records.Step[]): void => {
    expect(resolve(value, path as Path)?.value, formatPath(path)).toEqual(at);
    seen += 1;
    for (const part of described(at, path).parts ?? [])
      if (!isPartGap(part)) visit(part.value, [...path, ...part.steps]);
  };
  visit(value, []);
  expect(seen).toBeGreaterThan(35);
});

/** What the operation "show" answers for a part of a value. */
function shown(value: unknown, path: Path, maxBytes: number): unknown {
  return cut(resolve(value, path)!, maxBytes);
}

test("a long list is filled in part by part, from any side, until it is whole", async () => {
  const whole = await json(
    Array.from({ length: 2000 }, (_, n) => (n % 7 === 0 ? { n, text: "x".repeat(n % 50) } : n)),
  );
  let value = shown(whole, [], 3000);
  expect(lengthOf(itemsOf(value, ""))).toBe(2000);
  for (const index of [1500, 3, 700]) {
    const gap = itemsOf(value, "").find((part) => "from" in part && part.from <= index && part.to > index);
    const page = pageAround(gap as { from: number; to: number; bytes: number }, index);
    value = filled(value, [], { ...page, value: shown(whole, [page], 1500) });
    const item = itemsOf(value, "").find((part) => "index" in part && part.index === page.from);
    expect(item, `item ${page.from}`).toMatchObject({ value: (whole as unknown[])[page.from] });
    expect(lengthOf(itemsOf(value, ""))).toBe(2000);
  }
  for (let round = 0; round < 500 && records.hasCut(value); round += 1) {
    const gap = itemsOf(value, "").find((part) => "from" in part);
    if (gap === undefined || !("from" in gap)) break;
    const page = pageAround(gap, gap.from);
    value = filled(value, [], { ...page, value: shown(whole, [page], 20_000) });
  }
  expect(value).toEqual(whole);
});

test("texts, lists and objects deep inside records and behind gaps are filled in", async () => {
  const text = "häh🙂 ".repeat(3000);
  const whole = await json({
    messages: [
      ...Array.from({ length: 40 }, (_, n) => new HumanMessage({ content: `number ${n}`, id: `m${n}` })),
      new AIMessage({ content: text, id: "long" }),
    ],
    wide: Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`key ${n}`, n])),
  });
  let value = shown(whole, [], 4000);
  for (let round = 0; round < 400 && records.hasCut(value); round += 1) {
    const found = firstCut(value)!;
    const { from, to } = records.rangeOf(found.cut)!;
    value = filled(value, found.path, { from, to, value: shown(whole, [...found.path, { from, to }], 4000) });
  }
  expect(value).toEqual(whole);
});

/** The first record for something left out, and the path of what it belongs to. */
function firstCut(
  value: unknown,
  path: readonly records.Step[] = [],
): { cut: Parameters<typeof records.rangeOf>[0]; path: readonly records.Step[] } | undefined {
  if (records.isCut(value)) return { cut: value, path };
  const content = records.contentOf(value);
  const parts = Array.isArray(content)
    ? itemsOf(content, formatPath(path)).map((part, n) =>
        "from" in part ? (["…", content[n]] as const) : ([part.index, part.value] as const),
      )
    : Object.entries(records.isObject(content) ? content : {});
  for (const [key, part] of parts) {
    const found = firstCut(part, key === "…" ? path : [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

const label = (row: Row): string => {
  const text = row.row === "line" ? row.text : row.row === "more" ? "more" : row.label;
  return `${" ".repeat(row.depth)}${text}`;
};

test("the rows of a tree: what is open, lines of a text, items that aren't loaded", () => {
  const list = [1, { lc: 2, type: "sg:cut", path: "[1:4]", bytes: 300, items: 3 }, "last"];
  const roots = [
    { id: "a", label: "a", path: [], value: { text: "one two three\nfour", list: [] } },
    { id: "b", label: "b", path: [], value: list },
  ];
  expect(rowsOf(roots, { open: new Set(), columns: 80 }).map(label)).toEqual(["a", "b"]);
  const open = new Set(["a", "a/text", "b"]);
  const rows = rowsOf(roots, { open, columns: 20 });
  expect(rows.map(label)).toEqual([
    "a",
    " text",
    "  one two three",
    "  four",
    " list",
    "b",
    " 0",
    " 1",
    " 2",
    " 3",
    " 4",
  ]);
  expect(rows.slice(6).map(({ row }) => row)).toEqual(["value", "pending", "pending", "pending", "value"]);
  expect(rows.at(-1)).toMatchObject({ position: 5, siblings: 5, path: [4], text: '"last"' });
  expect(matches(rows, "FOUR")).toEqual([3]);
  expect([...openFor(roots, "four")]).toEqual(["a"]);
  expect(idsTo(roots[0]!, "text")).toEqual(["a", "a/text"]);
  expect(idsTo(roots[1]!, "[4]")).toEqual(["b", "b/[4]"]);
  expect(idsTo(roots[1]!, "[2].name")).toEqual(["b"]);
});

test("a text of many lines and a list of 100,000 items become rows", () => {
  const roots = [
    {
      id: "list",
      label: "list",
      path: [],
      value: [0, { lc: 2, type: "sg:cut", path: "[1:100000]", bytes: 9e6, items: 99_999 }],
    },
    { id: "text", label: "text", path: [], value: "some words to wrap\n".repeat(20_000) },
  ];
  const rows = rowsOf(roots, { open: new Set(["list", "text"]), columns: 100 });
  expect(rows.length).toBe(100_000 + 2 + 20_001);
});

test("an outline holds no text, but tells which are equal", async () => {
  const value = await json({
    messages: [
      new AIMessage({
        content: "My secret",
        id: "a1",
        tool_calls: [{ name: "look", id: "c1", args: { where: "home" } }],
      }),
      new ToolMessage({ content: "found", tool_call_id: "c1" }),
      new RemoveMessage({ id: "a1" }),
    ],
    at: new Date(0),
    tags: new Set(["private"]),
    map: new Map([["key of a map", 1]]),
    data: { lc: 2, type: "sg:mine", value: "secret data" },
    error: new Error("private text"),
  });
  const outlined = JSON.stringify(new Outline().of(value));
  for (const text of [
    "secret",
    "look",
    "c1",
    "home",
    "found",
    "a1",
    "private",
    "key of a map",
    "1970",
    "mine",
  ])
    expect(outlined, text).not.toContain(text);
  expect(outlined).toContain("AIMessage");
  const [, call] = /"tool_calls":\[\{[^}]*"id":"(\(text [^"]*)"/.exec(outlined)!;
  expect(outlined).toContain(`"tool_call_id":"${call}"`);
});
