import { HumanMessage } from "@langchain/core/messages";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { team } from "../../operations/support/team.ts";
import { on } from "../seeds/on.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onStack, type Place } from "./support/places.ts";
import { openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onStack();
  await seed(place.saver, ["large", "chat", "research", "stopped", "trip", "support"]);
});
afterAll(() => place.close());

const pathOf = (thread: string) => `/t/${encodeURIComponent(thread)}`;
const checkpoint = (page: Page) => page.getByRole("region", { name: /^Checkpoint/ });

test("a conversation is shown with each call at its result, and the other channels are shown, too", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(pathOf("support/4711")));
  await checkpoint(page).getByText("Can I get my money back?").waitFor();
  await checkpoint(page).getByText("Refunded EUR 49.90 for order 4711, receipt R-4711-1").waitFor();
  // Rows of a tree are in the page while they are seen.
  await checkpoint(page).getByRole("tree", { name: "State" }).scrollIntoViewIfNeeded();
  await checkpoint(page).getByText("Anna Peeters").waitFor();
  await page.goto(at(pathOf("workshop chat")).split("#")[0]!);
  await checkpoint(page).getByText("Once more (30)").waitFor();
});

test("steps say what each node wrote, what failed and what is waited for", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(pathOf("import/2026-11-22")));
  await checkpoint(page).getByText("Cannot read properties of undefined").first().waitFor();
  await checkpoint(page)
    .getByRole("link", { name: "Writes" })
    .or(page.getByRole("tab", { name: "Writes" }))
    .click();
  await checkpoint(page).getByRole("article").filter({ hasText: "campagnolo" }).getByText("failed").waitFor();
  await checkpoint(page)
    .getByRole("article")
    .filter({ hasText: "sram" })
    .getByText("873", { exact: true })
    .waitFor();
  await page.goto(at(pathOf("review/ridley")).split("#")[0]!);
  await checkpoint(page).getByText("Sign the contract with Ridley over EUR 48000?").waitFor();
  const waiting = page.getByRole("grid", { name: "History" }).getByText("waits for an answer");
  await waiting.waitFor();
  await page.goto(at(pathOf("review/gazelle")).split("#")[0]!);
  await page.getByRole("grid", { name: "History" }).getByText("head").waitFor();
  expect(await waiting.count()).toBe(0);
});

test("a subgraph's own steps can be chosen", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(pathOf("research/batteries")));
  const graphs = page.getByRole("combobox", { name: "Graph or subgraph" });
  await graphs.selectOption({ index: 1 });
  await page.getByRole("grid", { name: "History" }).getByText("draft").waitFor();
  await checkpoint(page).getByText("headings").waitFor();
});

test("a tool call leads to the messages of the subagent that it ran, and from there back", async () => {
  await team(place.saver).invoke({ messages: [new HumanMessage("Find drinks")] }, on("drinks"));
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(pathOf("drinks")));
  const call = checkpoint(page).getByRole("group", { name: "Call of task" }).filter({ hasText: "call-tea" });
  await call.getByRole("link", { name: "scout" }).click();
  await checkpoint(page).getByText("find tea: found").waitFor();
  const graphs = page.getByRole("combobox", { name: "Graph or subgraph" });
  await expect.poll(() => graphs.locator("option:checked").textContent()).toBe("scout, task call-tea");
  await page.getByRole("link", { name: "task", exact: true }).click();
  await checkpoint(page).getByText("Find drinks").waitFor();
});

test("two checkpoints are compared by keys, and a value shows who wrote it", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(pathOf("trip to Lisbon/cheapest")));
  const history = page.getByRole("grid", { name: "History" });
  await history.getByRole("row").first().waitFor();
  await history.focus();
  await page.keyboard.press("d");
  await page.keyboard.press("j");
  await page.keyboard.press("d");
  await page.waitForURL("**/diff?**");
  await page.getByText("Hostel Alfama (with breakfast)").first().waitFor();
  await page.goto(at(`/blame?at=${encodeURIComponent("trip to Lisbon/central")}&path=price`).split("#")[0]!);
  await page.getByText("129").first().waitFor();
  await page.getByRole("main").getByText("agent").first().waitFor();
  // A list that grew: what was there before isn't shown as changed.
  await page.goto(at(`/blame?at=${encodeURIComponent("support/4711")}&path=messages`).split("#")[0]!);
  const changed = page.getByRole("region", { name: "What changed" });
  await changed.locator(".message").first().waitFor();
  expect(await changed.locator("del, ins").count()).toBe(0);
  expect(await changed.getByText("Can I get my money back?").count()).toBe(0);
});

test("a value of 12 MB opens, and the page doesn't load it", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at("/"));
  let bytes = 0;
  page.on("response", async (response) => void (bytes += (await response.body().catch(() => "")).length));
  await page.getByRole("link", { name: "catalogue of 12 MB" }).waitFor();
  await page.getByRole("link", { name: "catalogue of 12 MB" }).click();
  await checkpoint(page).getByText("rows", { exact: true }).first().waitFor();
  await checkpoint(page).getByText("supplier", { exact: true }).first().waitFor();
  expect(bytes).toBeLessThan(2_000_000);
});
