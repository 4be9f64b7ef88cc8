import { expect, test } from "vitest";
import { set, update } from "../src/immutable.ts";

/** A value that nobody can change in place. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !(value instanceof Map))
    for (const inner of Object.values(Object.freeze(value))) frozen(inner);
  return value;
}

const state = frozen({
  user: { name: "Ada", tags: ["a", "b"] },
  pages: { x: { text: "x" }, y: { text: "y" } },
  seen: new Map([["a", 1]]),
});

test("set shares what isn't on the path", () => {
  const next = set(state, ["pages", "x", "text"], "z");
  expect(next).toEqual({ ...state, pages: { x: { text: "z" }, y: { text: "y" } } });
  expect([next.user, next.pages.y, next.seen]).toEqual([state.user, state.pages.y, state.seen]);
  expect(next.user).toBe(state.user);
  expect(next.pages.y).toBe(state.pages.y);
  expect(set(state, ["pages", "x", "text"], "x")).toBe(state);
  expect(set(state, [], 1)).toBe(1);
});

test("set makes what is missing, and refuses what it can't change", () => {
  expect(set({} as object, ["a", 0, "b"], 1)).toEqual({ a: [{ b: 1 }] });
  expect(set([1, 2], [2], 3)).toEqual([1, 2, 3]);
  expect(set(Object.create(null) as object, ["a"], undefined)).toHaveProperty("a", undefined);
  for (const [value, path] of [
    [[1], [2]],
    [[1], [-1]],
    [[1], ["length"]],
    [{ a: new Map() }, ["a", "b"]],
    [{ a: "text" }, ["a", 0]],
    [{}, ["__proto__", "polluted"]],
  ] as const)
    expect(() => set(value, path, 1)).toThrow(TypeError);
  expect(set({}, ["constructor", "prototype", "polluted"], 1)).toEqual({
    constructor: { prototype: { polluted: 1 } },
  });
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test("update changes a draft, and shares the rest", () => {
  const next = update(state, (draft) => {
    draft.user.tags.push("c");
    draft.user.tags.sort((a, b) => b.localeCompare(a));
    delete (draft.pages as { x?: object }).x;
  });
  expect(next).toEqual({
    user: { name: "Ada", tags: ["c", "b", "a"] },
    pages: { y: { text: "y" } },
    seen: state.seen,
  });
  expect(next.pages.y).toBe(state.pages.y);
  expect(next.seen).toBe(state.seen);
  expect(state.user.tags).toEqual(["a", "b"]);
});

test("update that changes nothing in the end returns the same object", () => {
  expect(update(state, () => {})).toBe(state);
  expect(update(state, (draft) => void (draft.user.name = "Ada"))).toBe(state);
  expect(update(state, (draft) => void draft.user.tags.push(draft.user.tags.pop()!))).toBe(state);
  expect(update(state, (draft) => JSON.parse(JSON.stringify(draft.user)) && undefined)).toBe(state);
});

test("update: drafts may be moved, put into new objects, and returned", () => {
  const swapped = update(state, (draft) => {
    [draft.pages.x, draft.pages.y] = [draft.pages.y, draft.pages.x];
  });
  expect(swapped.pages.x).toBe(state.pages.y);
  expect(swapped.pages.y).toBe(state.pages.x);
  const wrapped = update(
    state as object,
    (draft) => void Object.assign(draft, { all: [{ of: (draft as typeof state).user }] }),
  );
  expect((wrapped as { all: { of: object }[] }).all[0]!.of).toBe(state.user);
  expect(update(state.user, (draft) => ({ ...draft, name: "Bo" }))).toEqual({ name: "Bo", tags: ["a", "b"] });
  expect(update(1, (n) => n + 1)).toBe(2);
});

test("update: one object in two places is changed in one of them", () => {
  const one = { n: 1 };
  const next = update({ a: one, b: one }, (draft) => void (draft.a.n = 2));
  expect(next).toEqual({ a: { n: 2 }, b: { n: 1 } });
  expect(next.b).toBe(one);
});

test("update: no way to a prototype", () => {
  expect(() =>
    update({}, (draft: Record<string, object>) => void (draft["__proto__"] = { polluted: 1 })),
  ).toThrow(TypeError);
  expect(() =>
    update({}, (draft: Record<string, Record<string, number>>) => void (draft["__proto__"]!["polluted"] = 1)),
  ).toThrow(TypeError);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  const own = JSON.parse('{"__proto__":{"a":1},"b":1}') as { b: number };
  expect(Object.keys(update(own, (draft) => void (draft.b = 2)))).toEqual(["__proto__", "b"]);
});
