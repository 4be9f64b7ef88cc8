import { MemorySaver as OfficialSaver } from "@langchain/langgraph-checkpoint";
import {
  applyMerge,
  branches,
  compare,
  diff,
  fork,
  forkMany,
  formatComparison,
  formatDiff,
  lineage,
  log,
  merge,
  mergeBase,
  promote,
  undo,
  type MergePlan,
  type MergeableGraph,
} from "@stratigraph/branch";
import { MemorySaver } from "@stratigraph/core";
import { chat, human, on } from "./support/graphs.ts";

const saver = new MemorySaver();
const graph = chat(saver);
/** What JavaScript, or a cast, lets through. */
const any = (value: unknown): never => value as never;

let plan: MergePlan;
beforeAll(async () => {
  await graph.invoke({ messages: [human("one")], title: "base", notes: ["base"] }, on("t"));
  await fork(saver, "t", { to: "t/f" });
  await graph.updateState(on("t"), { title: "ours", notes: ["ours"] });
  await graph.updateState(on("t/f"), { title: "theirs", notes: ["theirs"] });
  const result = await merge(graph, "t", "t/f");
  if (result.status !== "conflict") throw new Error(result.status);
  ({ plan } = result);
});

async function refusal(call: () => unknown): Promise<{ code: unknown; message: string; name: string }> {
  try {
    await call();
  } catch (error) {
    return error as { code: unknown; message: string; name: string };
  }
  throw new Error("it was accepted");
}

describe("answers", () => {
  const values = async (): Promise<unknown> => (await graph.getState(on("t"))).values;

  test.each([
    [
      "their",
      /^Invalid option answers\.title: found "their"\. Did you mean theirs\? Answer with "base", "ours"/,
    ],
    ["Ours", /answers\.title: found "Ours"\. Did you mean ours\?/],
    ["mine", /answers\.title: found "mine"\. .*Answer with "base", "ours", "theirs" or \{ value \}/],
    [["theirs"], /answers\.title: found "an array"/],
    [null, /answers\.title: found "null"/],
    [7, /answers\.title: found "the number 7"/],
    [{ vlaue: 1 }, /answers\.title: found "an object without value"/],
    [{ value: 1, extra: 1 }, /extra/],
    [Object.create({ value: "inherited" }), /an object without value/],
  ])("%j is no answer, and nothing is written", async (answer, message) => {
    const before = await values();
    const error = await refusal(() => applyMerge(graph, plan, any({ title: answer, notes: "ours" })));
    expect(error).toMatchObject({ name: "InvalidOptionError", code: "INVALID_OPTION" });
    expect(error.message).toMatch(message);
    expect(await values()).toEqual(before);
  });

  test("a channel that the plan doesn't have is refused; one without an answer is a conflict", async () => {
    const before = await values();
    const error = await refusal(() =>
      applyMerge(graph, plan, { title: "ours", notes: "ours", titel: "ours" }),
    );
    expect(error.message).toBe(
      'Invalid option answers.titel: found "ours". The plan has no such channel. Did you mean title? Its channels: title, notes.',
    );
    for (const answers of [{ title: "ours" }, { title: "ours", notes: undefined }])
      expect(await refusal(() => applyMerge(graph, plan, any(answers)))).toMatchObject({
        code: "MERGE_CONFLICT",
      });
    expect(await values()).toEqual(before);
  });

  test("a value of one's own is taken as it is, and may be none", async () => {
    const { threadId } = await fork(saver, "t");
    const result = await merge(graph, threadId, "t/f");
    if (result.status !== "conflict") throw new Error(result.status);
    await applyMerge(graph, result.plan, { title: { value: undefined }, notes: { value: ["own"] } });
    const state = await graph.getState(on(threadId));
    expect(state.values.title).toBeUndefined();
    expect(state.values.notes).toEqual(["own"]);
  });
});

describe("kinds of arguments", () => {
  const official = new OfficialSaver();
  const calls: [name: string, call: (saver: never) => unknown][] = [
    ["fork", (given) => fork(given, "t")],
    ["forkMany", (given) => forkMany(given, "t", 1)],
    ["lineage", (given) => lineage(given, "t")],
    ["branches", (given) => branches(given, "t")],
    ["mergeBase", (given) => mergeBase(given, "t", "t")],
    ["log", (given) => log(given, "t")],
    ["diff", (given) => diff(given, "t", "t")],
    ["compare", (given) => compare(given, ["t"])],
    ["promote", (given) => promote(given, { threadId: "t", checkpointId: "c" })],
    ["undo", (given) => undo(given, "t")],
  ];

  test.each(calls)("%s takes a saver, and says so to who passes something else", async (name, call) => {
    for (const [given, advice] of [
      [graph, /found "a CompiledStateGraph"\. .* takes the saver itself: pass graph\.checkpointer/],
      [official, /found "a \w+"\. .* takes one of Stratigraph's savers/],
      [undefined, /found "undefined"/],
      ["t", /found "the string t"/],
    ] as const) {
      const error = await refusal(() => call(any(given)));
      expect(error).toMatchObject({ code: "INVALID_OPTION", name: "InvalidOptionError" });
      expect(error.message).toMatch(advice);
      expect(error.message).toContain(`${name} takes`);
    }
  });

  test("merge and applyMerge take a compiled graph, and say so", async () => {
    for (const [given, advice] of [
      [saver, /found "a MemorySaver".*takes the compiled graph, not its saver/],
      [undefined, /found "undefined".*takes the compiled graph/],
      [{ ...graph.builder, compile: () => graph }, /not its builder/],
    ] as const) {
      expect((await refusal(() => merge(any(given), "t", "t/f"))).message).toMatch(advice);
      expect((await refusal(() => applyMerge(any(given), plan, {}))).message).toMatch(advice);
    }
    const elsewhere: MergeableGraph = chat(official as never);
    expect((await refusal(() => merge(elsewhere, "t", "t/f"))).message).toMatch(
      /graph\.checkpointer: found "a \w+".*Compile the graph with a Stratigraph saver/,
    );
  });

  test("a result isn't its plan", async () => {
    const result = await merge(graph, "t", "t/f");
    for (const [given, advice] of [
      [result, 'found "a result with status "conflict"". Pass its plan: result.plan.'],
      [{ status: "merged" }, "there is no plan"],
      [undefined, 'found "undefined". Pass the plan of a merge'],
      [{ ...plan, version: 2 }, "plan.version"],
    ] as const)
      expect((await refusal(() => applyMerge(graph, any(given), {}))).message.replaceAll("\\", "")).toContain(
        advice,
      );
    expect((await refusal(() => applyMerge(graph, plan, any("ours")))).message).toContain(
      "Pass an answer per channel",
    );
  });

  test("points are thread ids or objects everywhere", async () => {
    const made = await fork(saver, "t");
    const wanted = (await diff(saver, { threadId: "t" }, { threadId: "t/f" })).channels;
    expect((await diff(saver, "t", "t/f")).channels).toEqual(wanted);
    expect(await mergeBase(saver, "t", made)).toEqual(await mergeBase(saver, { threadId: "t" }, made));
    expect(await lineage(saver, made)).toEqual(await lineage(saver, made.threadId));
    expect((await log(saver, made)).text).toBe((await log(saver, made.threadId)).text);
    expect((await branches(saver, made))[0]).toMatchObject({ threadId: made.threadId });
    expect((await compare(saver, ["t", made])).threads).toHaveLength(2);
    expect((await merge(graph, made, "t")).status).toBe("already-merged");
    expect((await merge(graph, made, ["t", { threadId: "t" }])).status).toBe("already-merged");
    expect(await refusal(() => undo(saver, made))).toMatchObject({ code: "NOT_FOUND" });
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      "a config",
      () => fork(saver, any(on("t"))),
      /from: found a config of LangGraph's\..*config\.configurable\.thread_id/,
    ],
    [
      "another name",
      () => diff(saver, "t", any({ thread_id: "t" })),
      /b\.thread_id.*Did you mean threadId\?/,
    ],
    ["no id", () => fork(saver, any({})), /from\.threadId: found undefined\. Pass a string\./],
    [
      "a number",
      () => merge(graph, "t", any(7)),
      /sources: found the number 7\. Pass a thread id, or \{ threadId, checkpointId \}/,
    ],
    ["one of several", () => merge(graph, "t", any(["t/f", 7])), /sources\[1\]: found the number 7/],
    [
      "a checkpoint for a thread",
      () => merge(graph, any({ threadId: "t", checkpointId: "c" }), "t/f"),
      /target: found one checkpoint of a thread/,
    ],
    [
      "nothing to promote",
      () => promote(saver, any({ threadId: "t" })),
      /at\.checkpointId: found nothing\. Name the checkpoint/,
    ],
    ["a thread to promote", () => promote(saver, any("t")), /at\.checkpointId: found nothing/],
    ["no thread", () => undo(saver, any(undefined)), /thread: found undefined/],
    ["an empty id", () => log(saver, ""), /thread: found an empty string/],
  ])("%s is no point", async (_what, call, message) => {
    const error = await refusal(call);
    expect(error).toMatchObject({ name: "InvalidAddressError", code: "INVALID_ADDRESS" });
    expect(error.message).toMatch(message);
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      "fork, history",
      () => fork(saver, "t", any({ history: "all" })),
      /history: found "all"\. .*Use "needed"/,
    ],
    ["fork, calls", () => fork(saver, "t", any({ calls: false })), /calls: found .*Use "inherit"/],
    [
      "fork, name",
      () => fork(saver, "t", any({ name: "x" })),
      /name: found "text"\. fork has no such option\. The new thread is named by the option "to"/,
    ],
    ["fork, text", () => fork(saver, "t", any("x")), /fork takes an object of to, history/],
    [
      "forkMany, to",
      () => forkMany(saver, "t", 1, any({ to: "x" })),
      /Pass the ids of the new threads as the third argument/,
    ],
    [
      "forkMany, one name",
      () => forkMany(saver, "t", any("x")),
      /to: found "the string x"\. Pass the ids of the new threads as a list, or how many/,
    ],
    ["forkMany, half a fork", () => forkMany(saver, "t", 1.5), /to: found 1\.5/],
    ["forkMany, the same twice", () => forkMany(saver, "t", ["a", "b", "a"]), /It is named twice/],
    [
      "merge, strategies",
      () => merge(graph, "t", "t/f", any({ strategies: {} })),
      /strategies.*Did you mean strategy\?/,
    ],
    [
      "merge, fastForward",
      () => merge(graph, "t", "t/f", any({ fastForward: "no" })),
      /fastForward: found "the string no"\. Use true or false/,
    ],
    [
      "a strategy",
      () => merge(graph, "t", "t/f", any({ strategy: "Union" })),
      /strategy: found "Union"\. Did you mean union\?/,
    ],
    [
      "a channel's strategy",
      () => merge(graph, "t", "t/f", any({ strategy: { title: "their" } })),
      /strategy\.title: found "their"\. Did you mean theirs\?/,
    ],
    ["no strategy", () => merge(graph, "t", "t/f", any({ strategy: null })), /strategy: found "null"/],
    [
      "a strategy for no channel",
      () => merge(graph, "t", "t/f", { strategy: { titel: "ours" } }),
      /strategy\.titel: found "ours"\. The graph has no such channel\. Did you mean title\?/,
    ],
    [
      "applyMerge, options",
      () => applyMerge(graph, plan, {}, any({ answers: {} })),
      /answers.*applyMerge has no such option/,
    ],
    ["compare, one thread", () => compare(saver, any("t")), /points: found "the string t"\. Pass a list/],
    [
      "a diff not awaited",
      () => formatDiff(any(diff(saver, "t", "t/f"))),
      /diff: found "a promise \(await it\)"/,
    ],
    ["a width", () => formatDiff({ channels: [] } as never, { width: 0 }), /width: found/],
    ["a comparison", () => formatComparison(any(undefined)), /comparison: found "undefined"/],
  ])("%s: an option that isn't one", async (_what, call, message) => {
    const error = await refusal(call);
    expect(error).toMatchObject({ name: "InvalidOptionError", code: "INVALID_OPTION" });
    expect(error.message).toMatch(message);
  });

  test("refusals name the remedy that fits", async () => {
    await graph.invoke({ messages: [human("x")] }, on("unrelated"));
    const error = await refusal(() => merge(graph, "t", "unrelated"));
    expect(error).toMatchObject({ code: "MERGE_REFUSED" });
    expect(error.message).toContain(
      "have no checkpoint in common. Nothing was written. Merge threads that come from one another",
    );
    expect(error.message).not.toContain("Let the work end");
  });
});
