import { diffLines, diffWordsWithSpace } from "diff";
import { expect, test } from "vitest";
import {
  ends,
  folded,
  messageSide,
  pathText,
  pieces,
  sideText,
  type Differ,
} from "../../../page/views/diff/changeText.ts";

const differ = { diffWordsWithSpace, diffLines } as Differ;

test("texts are compared by words, data by lines", () => {
  expect(pieces(differ, sideText("the old house"), sideText("the new house"))).toEqual([
    { kind: "same", text: "the " },
    { kind: "removed", text: "old" },
    { kind: "added", text: "new" },
    { kind: "same", text: " house" },
  ]);
  const list = (n: number) => sideText({ first: "x".repeat(70), n, last: true });
  expect(pieces(differ, list(1), list(2)).map(({ kind }) => kind)).toEqual([
    "same",
    "removed",
    "added",
    "same",
  ]);
});

test("if comparing would take too long, the common beginning and end are still found", () => {
  const never: Differ = { diffWordsWithSpace: () => undefined, diffLines: () => undefined };
  expect(pieces(never, sideText("abcXdef"), sideText("abcYYdef"))).toEqual([
    { kind: "same", text: "abc" },
    { kind: "removed", text: "X" },
    { kind: "added", text: "YY" },
    { kind: "same", text: "def" },
  ]);
  for (const [a, b] of [
    ["aa", "aaa"],
    ["", "x"],
    ["abc", "abc"],
    ["ab", "ba"],
  ] as const) {
    const all = ends(a, b);
    const side = (kind: string) =>
      all
        .filter((piece) => piece.kind === "same" || piece.kind === kind)
        .map(({ text }) => text)
        .join("");
    expect([side("removed"), side("added")]).toEqual([a, b]);
  }
});

test("what is equal is folded, except around differences", () => {
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => `line ${from + n}\n`).join("");
  const all = pieces(
    differ,
    sideText(`${lines(0, 40)}old\n${lines(40, 80)}`),
    sideText(`${lines(0, 40)}new\n${lines(40, 80)}`),
  );
  const shown = folded(all);
  expect(shown.map(({ kind }) => kind)).toEqual(["fold", "same", "removed", "added", "same", "fold"]);
  expect(shown[1]!.text).toContain("line 39");
  expect(shown[1]!.text).not.toContain("line 30");
  const text = shown
    .filter(({ kind }) => kind !== "added")
    .map(({ text }) => text)
    .join("");
  expect(text.replace("old", "new").replaceAll(/\s/g, "")).toBe(
    `${lines(0, 40)}new${lines(40, 80)}`.replaceAll(/\s/g, ""),
  );
});

test("messages of a diff: what they say, and fields that hold something", () => {
  const message = (content: unknown, more = {}) => ({
    type: "ai",
    data: { content, id: "a1", additional_kwargs: {}, response_metadata: {}, tool_calls: [], ...more },
  });
  expect(messageSide(message("Hi"))).toMatchObject({ speaker: "ai", content: { text: "Hi" }, rest: {} });
  expect(messageSide(message("Hi", { tool_calls: [{ name: "look" }] }))!.rest).toEqual({
    tool_calls: [{ name: "look" }],
  });
  expect(
    messageSide(
      message([
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ]),
    )!.content.text,
  ).toBe("a\nb");
  expect(messageSide({ data: 1 })).toBeUndefined();
  expect(sideText({ lc: 2, type: "sg:cut", path: "[3:]", bytes: 900, begins: "abc" })).toEqual({
    kind: "text",
    text: "abc",
    cut: true,
    skips: 0,
  });
  const differing = { lc: 2, type: "sg:cut", path: "[500:]", bytes: 900, begins: "abc", skips: 500 };
  expect(sideText(differing)).toMatchObject({ text: "abc", skips: 500 });
  const said = { type: "human", data: { content: differing } };
  expect(messageSide(said)!.content).toMatchObject({ text: "abc", cut: true, skips: 500 });
});

test("a place in a value, for people", () => {
  expect(pathText("/facts/a~1b/0")).toBe("facts › a/b › 0");
  expect(pathText("#m1")).toBe("#m1");
});
