import type { Locator, Page } from "playwright-core";
import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { beforeAll, expect, test } from "vitest";
import { on } from "../seeds/on.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { allRounds } from "../../../../../../test/rounds.ts";
import { openBeside, openTab } from "./support/tab.ts";

// What two people do at once. Nothing is told to the pages, as if each click came a moment after the other.
const unaware = { allow: ["read", "write"], pollMs: 3_600_000 } as const;

const saver = new MemorySaver();
beforeAll(() => seed(saver, ["trip", "support"]));

const cheapest = "trip to Lisbon/cheapest";
const thorough = "trip to Lisbon/thorough";

async function historyOf(thread: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { checkpoint } of saver.list(on(thread))) ids.push(checkpoint.id);
  return ids;
}

async function readyToMerge(page: Page): Promise<Locator> {
  await page.getByRole("combobox", { name: "For all channels" }).selectOption("theirs");
  const merge = page.getByRole("button", { name: "Merge", exact: true });
  await expect.poll(() => merge.isEnabled()).toBe(true);
  return merge;
}

test("if two tabs merge, the second is refused and told to look again; then there is nothing to merge", async () => {
  const { at } = await inspecting(saver, unaware);
  const address = at(
    `/t/${encodeURIComponent(cheapest)}/merge?from=${encodeURIComponent(thorough)}&graph=trip`,
  );
  const first = await openTab(address, { expected: [/409/] });
  const second = await openBeside(first, address);
  const [one, other] = [await readyToMerge(first), await readyToMerge(second)];
  await one.click();
  await first.waitForURL(`**/t/${encodeURIComponent(cheapest)}`);
  const merged = await historyOf(cheapest);
  await other.click();
  const told = second.getByRole("alert").filter({ hasText: "CHECKPOINT_CONFLICT" });
  await told.getByText(/went on to .*Look at the merge again/).waitFor();
  expect(await historyOf(cheapest)).toEqual(merged);
  expect(await other.isDisabled()).toBe(true);
  await told.getByRole("button", { name: "Look again" }).click();
  await second.getByTestId("merge-status").getByText("The thread has it already").waitFor();
  await told.waitFor({ state: "hidden" });
});

test("a fork that has changed since it was looked at isn't merged unseen", async () => {
  const { at } = await inspecting(saver, unaware);
  const central = "trip to Lisbon/central";
  const page = await openTab(
    at(`/t/${encodeURIComponent(central)}/merge?from=${encodeURIComponent(thorough)}&graph=trip`),
    { expected: [/409/] },
  );
  const merge = await readyToMerge(page);
  const before = await historyOf(central);
  const { tripAgent } = await import("../seeds/trip.ts");
  await tripAgent(saver).updateState(on(thorough), { price: 1 }, "agent");
  await merge.click();
  const told = page.getByRole("alert").filter({ hasText: "CHECKPOINT_CONFLICT" });
  await told.getByRole("button", { name: "Look again" }).click();
  await told.waitFor({ state: "hidden" });
  expect(await historyOf(central)).toEqual(before);
  await expect.poll(() => merge.isEnabled()).toBe(true);
  await merge.click();
  await page.waitForURL(`**/t/${encodeURIComponent(central)}`);
  expect((await saver.getTuple(on(central)))!.checkpoint.channel_values).toMatchObject({ price: 1 });
});

test("if two tabs answer, the second is told that the question was answered", async () => {
  const { at } = await inspecting(saver, unaware);
  const first = await openTab(at("/t/support%2F4712/calls"), { expected: [/404/] });
  const second = await openBeside(first, at("/t/support%2F4712/calls"));
  const dialogOf = async (page: Page, author: string): Promise<Locator> => {
    await page.getByRole("button", { name: "Answer…" }).click();
    const dialog = page.getByRole("dialog", { name: "Did refund happen?" });
    await dialog.getByRole("radio", { name: /It didn/ }).check();
    await dialog.getByLabel("Who answers").fill(author);
    await dialog.getByRole("button", { name: "Preview" }).click();
    await dialog.getByRole("button", { name: "Write the answer" }).waitFor();
    return dialog;
  };
  const [one, other] = [await dialogOf(first, "anna"), await dialogOf(second, "ben")];
  await one.getByRole("button", { name: "Write the answer" }).click();
  await one.waitFor({ state: "hidden" });
  await other.getByRole("button", { name: "Write the answer" }).click();
  await other
    .getByRole("alert")
    .getByText(/it was answered/)
    .waitFor();
  await other.getByRole("button", { name: "Cancel" }).click();
  await second.reload();
  await second.getByRole("button", { name: /^refund/ }).click();
  await second.getByRole("dialog", { name: "refund" }).getByText("by anna").waitFor();
});

test.runIf(allRounds)(
  "a person answers in the inbox; one who comes too late is told, and a thread that another process answers leaves",
  async () => {
    const waiting = new MemorySaver();
    const State = Annotation.Root({ said: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode("clerk", () => ({ said: interrupt<string, string>("Book the hotel?") }))
      .addEdge(START, "clerk")
      .compile({ checkpointer: waiting });
    const people = ["ada", "bob", "cleo", "dan", "eve"];
    for (const thread of people) await graph.invoke({}, on(thread));
    const given = { graphs: ["hotel"], graph: () => Promise.resolve(graph as never) };
    const { at } = await inspecting(waiting, { ...given, allow: ["read", "write"], pollMs: 50 });
    const page = await openTab(at("/"));
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Inbox" }).click();
    const list = page.getByRole("list", { name: "Threads that wait for an answer" });
    const row = (thread: string) =>
      list.getByRole("listitem").filter({ has: page.getByRole("link", { name: thread }) });
    const say = async (tab: Page, thread: string, text: string) => {
      const its = tab.getByRole("listitem").filter({ has: tab.getByRole("link", { name: thread }) });
      await its.getByRole("button", { name: "Answer", exact: true }).click();
      await its.getByRole("textbox", { name: "Answer to clerk" }).fill(text);
      return its.getByRole("button", { name: "Answer and run on" });
    };
    await expect.poll(() => list.getByText("Book the hotel?").count()).toBe(people.length);
    await graph.invoke(new Command({ resume: "yes" }), on("ada"));
    await expect.poll(() => row("ada").count()).toBe(0);

    await (await say(page, "bob", "the one by the sea")).click();
    await page.getByText("bob was answered.").waitFor();
    await expect.poll(() => row("bob").count()).toBe(0);
    expect((await graph.getState(on("bob"))).values).toEqual({ said: "the one by the sea" });

    // Another process answers while the form is open.
    await say(page, "cleo", "no");
    await graph.invoke(new Command({ resume: "yes" }), on("cleo"));
    await page.getByText("cleo was answered meanwhile.").waitFor();
    await expect.poll(() => row("cleo").count()).toBe(0);

    // A page that hasn't heard of it.
    const deaf = await inspecting(waiting, { ...given, ...unaware });
    const late = await openTab(deaf.at("/inbox"), { expected: [/409/] });
    const send = await say(late, "dan", "no");
    await graph.invoke(new Command({ resume: "yes" }), on("dan"));
    await send.click();
    await late.getByText("This came too late.").waitFor();
    await expect.poll(() => late.getByRole("link", { name: "dan" }).count()).toBe(0);
    expect((await graph.getState(on("dan"))).values).toEqual({ said: "yes" });

    const reads = await inspecting(waiting, given);
    const only = await openTab(reads.at("/inbox"));
    await only.getByText("Book the hotel?").waitFor();
    expect(await only.getByRole("button", { name: "Answer", exact: true }).count()).toBe(0);

    await say(page, "eve", "yes");
    await row("eve").getByRole("button", { name: "Close" }).click();
    await graph.invoke(new Command({ resume: "yes" }), on("eve"));
    await page.getByText("No thread waits for an answer").waitFor();
  },
);
