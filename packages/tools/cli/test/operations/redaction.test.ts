import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { MemorySaver } from "@stratigraph/core";
import { Redaction } from "../../src/operations/values/redaction.ts";
import { expect, test } from "vitest";
import { on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { putValues } from "./support/threads.ts";

const secret = "s3cret";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  turn: Annotation<string>(),
  token: Annotation<string>(),
  user: Annotation<object>(),
  box: Annotation<object>(),
  map: Annotation<Map<string, unknown>>(),
  list: Annotation<object[]>(),
});

/** A graph that writes secrets in every form that a channel, a property, a Map, an item and an error can have. */
function leaky(saver: MemorySaver) {
  return new StateGraph(State)
    .addNode("leak", ({ turn }) => {
      if (turn === "fail") throw new TypeError(`refused: ${secret}-error`);
      const own = `${secret}-${turn}`;
      return {
        messages: [new AIMessage({ id: `a/${turn}#1`, content: own })],
        token: own,
        user: { name: `Ada ${turn}`, token: own, deep: { "a/b#c": { token: { of: own } } } },
        box: { messages: [{ role: "user", content: own }], open: turn },
        map: new Map<string, unknown>([
          ["token", own],
          ["other", { token: own }],
        ]),
        list: [
          { id: "one", token: own, n: turn },
          { id: "two", messages: [new HumanMessage({ id: "q", content: own })] },
        ],
      };
    })
    .addEdge(START, "leak")
    .compile({ checkpointer: saver });
}

/** Two threads that parted, the first one with a run that failed. */
async function leakyThreads() {
  const saver = new MemorySaver();
  const graph = leaky(saver);
  const say = (turn: string) => ({ messages: [new HumanMessage({ id: turn, content: secret })], turn });
  await graph.invoke({ ...say("first"), token: secret }, on("ada"));
  await fork(saver, { threadId: "ada" }, { to: "bob" });
  await graph.invoke(say("second"), on("ada"));
  await graph.invoke(say("third"), on("bob"));
  await fork(saver, { threadId: "ada" }, { to: "failed" });
  await expect(graph.invoke({ turn: "fail" }, on("failed"))).rejects.toThrow(secret);
  return { saver, graph };
}

const paths = ["user.token", "user.deep", "token", "token[0:3]", "map[0][1]", "list[0].token", "list[0]"];
const parts = [...paths, "messages[0].content", "messages[-1]", "box.messages", "box.messages[0].content"];

test("no operation shows what is redacted: values, parts, differences, blame, plans, edits, errors", async () => {
  const { saver, graph } = await leakyThreads();
  const ats = ["ada", "ada@head~2", "failed"];
  const asked: [name: string, input: object][] = [
    ...ats.flatMap((at): typeof asked => [
      ["show", { at }],
      ["writes", { at }],
      ["diff", { from: at }],
      ["diff", { from: at, to: "bob" }],
      ...parts.map((path): (typeof asked)[number] => ["blame", { at, path }]),
      ...parts.map((path): (typeof asked)[number] => {
        const [channel = ""] = /^\w+/.exec(path)!;
        return ["show", { at, channel, path: path.slice(channel.length) }];
      }),
    ]),
    ["threads", { details: true }],
    ["compare", { threads: ats }],
    ["glance", { threads: ["ada", "bob", "failed"] }],
    ["run", { at: "failed" }],
    ["merge", { thread: "ada", from: ["bob"], strategy: ["manual"], dryRun: true }],
    ...parts.map((path): (typeof asked)[number] => {
      const [channel = ""] = /^\w+/.exec(path)!;
      return ["set", { at: "ada", channel, path: path.slice(channel.length), value: '"x"', dryRun: true }];
    }),
  ];
  const told = async (redact: string[]) => {
    const all = new Map<string, string>();
    for (const [name, input] of asked) {
      const context = testContext(saver, { redact, graph: graph as never });
      const text = await run(name, input, context).then(
        (output) => JSON.stringify(output) + rendered(name, output),
        (error: Error & { code?: string }) => {
          // What was asked for may be wrong; it mustn't be a mistake of an operation.
          expect([name, input, error.code, error.message]).toEqual([
            name,
            input,
            expect.stringMatching(/^(NOT_FOUND|INVALID_OPTION)$/),
            error.message,
          ]);
          return error.message;
        },
      );
      all.set(`${name} ${JSON.stringify(input)}`, text);
    }
    return all;
  };
  const open = await told([]);
  for (const name of ["show", "writes", "diff", "blame", "compare", "glance", "merge", "set"])
    expect([...open].some(([asking, text]) => asking.startsWith(name) && text.includes(secret))).toBe(true);
  const redactions = [
    ["messages.*.content", "token"],
    ["messages[-1].content", '["token"]'],
    ["messages[0:2].content", "token"],
    ["messages", "token"],
    ["*"],
  ];
  for (const redact of redactions)
    for (const [asking, text] of await told(redact))
      expect(text, `${redact}: ${asking}`).not.toContain(secret);
  // What isn't redacted is shown as before.
  const rest = await told(["messages.*.content", "token"]);
  const diff = rest.get('diff {"from":"ada","to":"bob"}')!;
  expect(diff).toMatch(/Ada second.*Ada third/s);
  expect(diff).toContain("a/third#1");
  expect(rest.get('writes {"at":"failed"}')).toContain("TypeError");
});

test("a place that is redacted is one change of a diff: names and ids behind it are a part of it", async () => {
  const saver = new MemorySaver();
  const people = (anna: number) => ({
    users: { "anna@example.org": { age: anna }, "ben@example.org": { age: anna } },
    staff: { all: [{ id: "anna@example.org", age: anna }], name: `staff ${anna}` },
    rows: [{ age: anna, who: "anna" }],
  });
  await putValues(saver, "t", people(1));
  await putValues(saver, "t", people(2));
  const diff = async (redact: string[]) => {
    const found = await run<{ channels: { name: string; changes: { path: string }[] }[] }>(
      "diff",
      { from: "t" },
      testContext(saver, { redact }),
    );
    return found.channels.map(({ name, changes }) => [name, ...changes.map(({ path }) => path)]);
  };
  const all = [
    ["rows", "/0/age"],
    ["staff", "/all#anna@example.org", "/name"],
    ["users", "/anna@example.org/age", "/ben@example.org/age"],
  ];
  expect(await diff([])).toEqual(all);
  expect(await diff(["users", "staff.all"])).toEqual([all[0], ["staff", "/all", "/name"], ["users", ""]]);
  // A list of which a property is named is hidden as a whole by show, too.
  expect(await diff(["rows.age", "users.*.age"])).toEqual([["rows", ""], all[1], all[2]]);
  const blame = (redact: string[]) =>
    run<{ id?: string }>("blame", { at: "t", path: "staff.all[0].age" }, testContext(saver, { redact }));
  expect((await blame([])).id).toBe("anna@example.org");
  expect((await blame(["staff.all.*.id"])).id).toBeUndefined();
});

test("an edit of a part that isn't shown is made, and tells that it isn't shown", async () => {
  const saver = new MemorySaver();
  await putValues(saver, "t", { user: { token: { of: secret } } });
  const context = testContext(saver, { redact: ["user.token"] });
  const made = await run("set", { at: "t", channel: "user", path: "token.of", value: '"new"' }, context);
  expect(made).toMatchObject({
    before: { value: { type: "sg:redacted" } },
    after: { value: { type: "sg:redacted" } },
  });
  const { channel_values: values } = (await saver.getTuple(on("t")))!.checkpoint;
  expect(values["user"]).toEqual({ token: { of: "new" } });
});

test("a plan that is answered in part comes back with the texts that it had", async () => {
  const saver = new MemorySaver();
  const graph = leaky(saver);
  await graph.invoke({ messages: [], turn: "first" }, on("ada"));
  await fork(saver, { threadId: "ada" }, { to: "bob" });
  await graph.invoke({ messages: [], turn: "second" }, on("ada"));
  await graph.invoke({ messages: [], turn: "third" }, on("bob"));
  const context = testContext(saver, { graph: graph as never });
  interface Merged {
    readonly plan: { readonly channels: readonly object[] };
    readonly open: readonly string[];
  }
  const first = await run<Merged>("merge", { thread: "ada", from: "bob", dryRun: true }, context);
  expect(first.open.length).toBeGreaterThan(1);
  const answers = { [first.open[0]!]: "ours" };
  const next = await run<Merged>("merge", { thread: "ada", plan: first.plan, answers }, context);
  expect(next.open).toEqual(first.open.slice(1));
  expect(next.plan.channels).toEqual(first.plan.channels);
});

test("a redacted key of a Map is hidden, and pairs of other lists aren't taken for such", () => {
  const redaction = new Redaction(["token"]);
  const entries = [["token", secret], ["name", "Ada"]]; // prettier-ignore
  expect(redaction.apply("map", { lc: 2, type: "constructor", id: ["Map"], args: [entries] })).toMatchObject({
    args: [
      [
        ["token", { type: "sg:redacted" }],
        ["name", "Ada"],
      ],
    ],
  });
  expect(redaction.apply("names", ["token", "name"])).toEqual(["token", "name"]);
});

test("a path holds for what a question asks, in the form of each LangGraph, and where paths lead through one another", () => {
  const redaction = new Redaction(["*.card", "*.card.*"]);
  const asked = () => ({ id: "1", value: { ask: "Pay?", card: { number: secret } } });
  const before17 = redaction.apply("__interrupt__", asked());
  expect(before17).toMatchObject({ id: "1", value: { ask: "Pay?" } });
  const from17 = redaction.apply("__interrupt__", [asked()]);
  expect(JSON.stringify([before17, from17])).not.toContain(secret);
});
