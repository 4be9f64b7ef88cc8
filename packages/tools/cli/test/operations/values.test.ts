import { formatPath } from "../../src/operations/values/formatPath.ts";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { StratigraphSerializer } from "@stratigraph/core";
import type { CutRecord, Path } from "../../src/operations/index.ts";
import { cut, isCut } from "../../src/operations/values/cut.ts";
import { parsePath } from "../../src/operations/values/path.ts";
import { Redaction } from "../../src/operations/values/redaction.ts";
import { replaced, resolve } from "../../src/operations/values/resolve.ts";
import { valueLines } from "../../src/operations/values/text.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { columns } from "../../src/operations/render/columns.ts";
import { commandText } from "../../src/operations/render/commandText.ts";

const serde = new StratigraphSerializer();

/** The serde's JSON of a value. */
const jsonFrom = (value: unknown): unknown => JSON.parse(Buffer.from(serde.dumps(value)[1]).toString());

const segment = fc.oneof(
  fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
  fc.constantFrom("a.b", "[", "]", '"', "*", "__proto__", "0", ""),
  fc.integer({ min: -5, max: 100 }),
);

test("a path is written as it is read", () => {
  const slice = fc.record({ from: fc.nat(50), to: fc.option(fc.nat(99), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(segment), fc.option(slice, { nil: undefined }), (steps, last) => {
      const path: Path = last === undefined ? steps : [...steps, last];
      expect(parsePath(formatPath(path))).toEqual(path);
    }),
  );
  expect(parsePath("messages.3.content")).toEqual(["messages", "3", "content"]);
  for (const wrong of ["a[", "a[1", 'a["b]', "a[x]", "a..b", "a]"])
    expect(() => parsePath(wrong)).toThrow("messages[3].content");
});

test("what is cut is short enough, and everything left out is found by its path", () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: "binary", maxLength: 300 }).filter((text) => text.isWellFormed()),
      fc.integer(),
      fc.constantFrom(null, true, undefined, new Date(0), 5n, "x".repeat(500)),
      fc.array(tie("value"), { maxLength: 30 }),
      fc.dictionary(fc.string({ maxLength: 10 }), tie("value"), { maxKeys: 12 }),
      tie("value").map((content) => new Map([["k", content]])),
      fc.string().map((content) => new HumanMessage({ content, id: content.slice(0, 3) })),
    ),
  })).value;
  fc.assert(
    fc.property(value, fc.integer({ min: 100, max: 3000 }), (given, budget) => {
      const json = jsonFrom(given);
      const whole = JSON.stringify(json);
      const shown = cut({ value: json, path: [], from: 0 }, budget);
      // What a record says of itself comes on top: one stands for every part that is cut.
      const cuts = cutsIn(shown);
      const size = Buffer.byteLength(JSON.stringify(shown));
      const said = cuts.reduce((sum, { path }) => sum + 60 + Buffer.byteLength(JSON.stringify(path)), 0);
      expect(size).toBeLessThanOrEqual(Math.max(budget, 400) * 1.6 + said * 2);
      expect(JSON.stringify(json)).toBe(whole);
      // Nothing else is said where the size is known beforehand.
      const known = Buffer.byteLength(whole);
      expect(cut({ value: json, path: [], from: 0 }, budget, known)).toEqual(shown);
      if (Buffer.byteLength(whole) <= budget) expect(shown).toEqual(json);
      for (const { path, begins, items } of cuts) {
        const found = resolve(json, parsePath(path));
        expect(found, path).toBeDefined();
        if (begins !== undefined) expect(textAt(json, path)).toBe(`${begins}${String(found!.value)}`);
        if (items !== undefined) expect(Object.keys(found!.value as object)).toHaveLength(items);
      }
    }),
    // As long as the budget to the byte.
    { numRuns: 300, examples: [[new Map([["k", "ࠀ𐀀𐀀"]]), 100]] },
  );
});

/** The whole text of which a path names the end. */
function textAt(json: unknown, path: string): unknown {
  const whole = resolve(json, parsePath(path).slice(0, -1))!.value;
  return typeof whole === "string" ? whole : resolve(whole, [{ from: 0 }])!.value;
}

function cutsIn(value: unknown): CutRecord[] {
  if (isCut(value)) return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(cutsIn) : [];
}

test("paths lead through records, and what is set there is revived", () => {
  const value = {
    when: new Map<string, unknown>([["a", [new AIMessage({ content: "hi", id: "m" })]]]),
    ["__proto__x"]: { lc: 2, type: "sg:cut" },
  };
  const json = jsonFrom(value);
  expect(resolve(json, parsePath("when[0][1][0].content"))!.value).toBe("hi");
  expect(resolve(json, parsePath('["__proto__x"].type'))!.value).toBe("sg:cut");
  const changed = replaced(json, parsePath("when[0][1][0].content"), "ho");
  const revived = serde.loads("json", JSON.stringify(changed)) as typeof value;
  const [message] = revived.when.get("a") as [AIMessage];
  expect(message).toBeInstanceOf(AIMessage);
  expect(message.content).toBe("ho");
  expect(replaced(jsonFrom([1]), [1], 2)).toEqual([1, 2]);
  expect(replaced(jsonFrom([1]), [3], 2)).toBeUndefined();
  expect(replaced(jsonFrom({ a: 1 }), ["b", "c"], 2)).toBeUndefined();
  const polluted = replaced({}, ["__proto__"], { evil: true }) as object;
  expect(Object.hasOwn(polluted, "__proto__")).toBe(true);
  expect(({} as { evil?: boolean }).evil).toBeUndefined();
});

test("redacted values are gone in every form that they come in", () => {
  const redaction = new Redaction(["messages.*.content", "profile.secret", "token"]);
  const secret = "s3cret";
  const messages = [new HumanMessage(secret), { role: "user", content: secret }, secret, ["user", secret]];
  const values: Record<string, unknown> = {
    messages,
    __start__: { messages, profile: { secret } },
    __pregel_tasks: [[{ node: "n", args: { messages: secret } }]],
    other: new Map([["deep", { messages: [new AIMessage(secret)] }]]),
    profile: { secret, name: "Ada" },
    token: { of: [secret] },
  };
  for (const [channel, value] of Object.entries(values)) {
    const json = redaction.apply(channel, jsonFrom(value));
    expect(JSON.stringify(json), channel).not.toContain(secret);
  }
  expect(
    redaction.apply("messages", jsonFrom(new HumanMessage({ content: secret, id: "m1" }))),
  ).toMatchObject({ kwargs: { id: "m1" } });
  expect(redaction.apply("profile", jsonFrom({ secret, name: "Ada" }))).toMatchObject({ name: "Ada" });
  const last = new Redaction(["messages[-1].content", "profile.name.first"]);
  expect(JSON.stringify(last.apply("messages", jsonFrom(messages)))).not.toContain(secret);
  expect(JSON.stringify(last.apply("profile", jsonFrom({ name: secret })))).not.toContain(secret);
  expect(redaction.hides("token")).toBe(true);
  expect(redaction.hides("messages")).toBe(false);
});

test("text of values: no control characters, whatever is in them", () => {
  const evil = "\u001b[31m\u202e\n\t\u0000\u2028";
  const values = [
    evil,
    { [evil]: evil },
    [new AIMessage({ content: [{ type: "text", text: evil }], name: evil, id: evil })],
    new Map([[evil, evil]]),
    new Error(evil),
  ];
  for (const value of values)
    for (const line of valueLines(jsonFrom(value)))
      // oxlint-disable-next-line no-control-regex -- these are what is looked for
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
});

test("ids are shown without control characters, and as one word where they are part of a command", () => {
  expect([...columns([["\u001b]0;evil\u0007", "\u202eb"]])]).toEqual(["\\u001b]0;evil\\u0007  \\u202eb"]);
  expect(commandText("x", ["ada@head~3", "it's", "$(x)", "\u001b[2J"])).toBe(
    String.raw`stratigraph x ada@head~3 'it'\''s' '$(x)' '\u001b[2J'`,
  );
});

test("an id that begins with a dash is no option of a command that is suggested", () => {
  expect(commandText("run", ["ada"], "--resume 1")).toBe("stratigraph run ada --resume 1");
  expect(commandText("run", ["--config=./evil.mjs"], "--resume 1")).toBe(
    "stratigraph run --resume 1 -- '--config=./evil.mjs'",
  );
});
