import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { CorruptionError, MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { beforeAll, expect, test } from "vitest";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";

interface Inbox {
  readonly items: readonly {
    readonly thread: string;
    readonly since: string;
    readonly questions: readonly { readonly by?: string; readonly text: string }[];
    readonly error?: string;
  }[];
  readonly cursor?: string;
}

const State = Annotation.Root({ said: Annotation<string> });
const asking = (checkpointer: TierSaver) =>
  new StateGraph(State)
    .addNode("clerk", () => ({
      said: interrupt<object, string>({ ask: "Book it?", card: "4711" }) + interrupt<string, string>("sure?"),
    }))
    .addEdge(START, "clerk")
    .compile({ checkpointer });
const on = (thread_id: string) => ({ configurable: { thread_id } });

const tier = new FaultyTier(new MemoryTier());
const saver = new TierSaver(tier);
const context = testContext(saver);

beforeAll(async () => {
  for (const thread of ["ada", "bob", "eve"]) await asking(saver).invoke({}, on(thread));
  await saver.tagThread("bob", { team: "travel" });
});

test("the threads that wait, longest first, page by page, with what is asked and by whom", async () => {
  const { items, cursor } = await run<Inbox>("inbox", { limit: 2 }, context);
  const next = await run<Inbox>("inbox", { limit: 2, cursor }, context);
  expect([...items, ...next.items].map(({ thread }) => thread).toSorted()).toEqual(["ada", "bob", "eve"]);
  expect(next.cursor).toBeUndefined();
  expect(items[0]!.questions).toHaveLength(1);
  expect(items[0]!.questions[0]!.text).toContain("Book it?");
  expect(Date.parse(items[0]!.since)).toBeLessThanOrEqual(Date.now());
  const text = rendered("inbox", { items });
  expect(text).toContain("asks: ");
  expect(text).toContain("stratigraph run");
  const ofTeam = await run<Inbox>("inbox", { tag: "team=travel" }, context);
  expect(ofTeam.items.map(({ thread }) => thread)).toEqual(["bob"]);
});

test("what is redacted isn't shown", async () => {
  const hidden = await run<Inbox>("inbox", {}, testContext(saver, { redact: ["*.card"] }));
  expect(JSON.stringify(hidden)).not.toContain("4711");
});

test("a second question takes the place of the first; an answered thread leaves", async () => {
  await asking(saver).invoke(new Command({ resume: "yes " }), on("ada"));
  const ada = async () =>
    (await run<Inbox>("inbox", {}, context)).items.find(({ thread }) => thread === "ada");
  expect((await ada())!.questions.map(({ text }) => text)).toEqual(["sure?"]);
  await asking(saver).invoke(new Command({ resume: "sure" }), on("ada"));
  expect(await ada()).toBeUndefined();
  const idle = await run<{ items: { thread: string }[] }>("threads", { status: "idle" }, context);
  expect(idle.items.map(({ thread }) => thread)).toEqual(["ada"]);
});

test("one that can't be read is listed with the reason, and the others too", async () => {
  const heal = tier.failWhen(({ method, args: [query] }) =>
    method === "list" && (query as { threadId?: string }).threadId === "bob"
      ? new CorruptionError({ threadId: "bob", namespace: "", checkpointId: "c" }, "damaged")
      : undefined,
  );
  const { items } = await run<Inbox>("inbox", {}, context);
  heal();
  const bob = items.find(({ thread }) => thread === "bob");
  expect(bob!.error).toContain("damaged");
  expect(items.find(({ thread }) => thread === "eve")!.questions).toHaveLength(1);
});

test("no thread waits", async () => {
  const none = testContext(new MemorySaver());
  expect(rendered("inbox", await run<Inbox>("inbox", {}, none))).toBe("No thread waits for an answer.");
});
