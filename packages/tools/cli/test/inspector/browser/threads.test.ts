import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatAgent } from "../seeds/chat.ts";
import { on } from "../seeds/on.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onPostgres, type Place } from "./support/places.ts";
import { openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onPostgres();
  await seed(place.saver, ["trip", "race", "stopped"]);
});
afterAll(() => place.close());

const rows = (page: Page) => page.getByRole("grid", { name: "Threads" }).getByRole("row");

test("threads are listed newest first, with what is wrong with them", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at("/"));
  const { threads } = await place.saver.listThreads({ order: "newest", limit: 50 });
  await rows(page)
    .nth(threads.length - 1)
    .waitFor();
  expect(
    await rows(page)
      .getByRole("link")
      .evaluateAll((links) => links.map(({ title }) => title).filter(Boolean)),
  ).toEqual(expect.arrayContaining(threads.map(({ threadId }) => threadId)));
  const row = (id: string) => rows(page).filter({ has: page.getByTitle(id, { exact: true }) });
  await row("cart 88").getByText("1 conflict").waitFor();
  await row("import/2026-11-22").getByText("Failed").waitFor();
  await row("review/ridley").getByText("Waits for an answer").waitFor();
  await row("trip to Lisbon/central").getByTitle("Forked from trip to Lisbon").waitFor();
});

test("rows in sight tell what is asked, what failed, what was said last, and what they take", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at("/"));
  const row = (id: string) => rows(page).filter({ has: page.getByTitle(id, { exact: true }) });
  await row("review/ridley").getByText("Sign the contract with Ridley over EUR 48000?").waitFor();
  await row("import/2026-11-22").getByText("TypeError: Cannot read properties").waitFor();
  await row("trip to Lisbon/central").getByText("Hotel Baixa, €129 a night").waitFor();
  const central = row("trip to Lisbon/central");
  let checkpoints = 0;
  for await (const _ of place.saver.list({ configurable: { thread_id: "trip to Lisbon/central" } }))
    checkpoints += 1;
  await central.getByRole("gridcell", { name: String(checkpoints), exact: true }).waitFor();
  await central.getByTitle(/^[\d,]{4,} bytes$/).waitFor();
});

test("a search and filters narrow the list, and stand in the address", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at("/?q=LISBON"));
  await expect.poll(() => rows(page).count()).toBe(4);
  await page.getByRole("searchbox", { name: "Search threads" }).fill("nothing like this");
  await page.getByText("No thread matches").waitFor();
  await page.getByRole("button", { name: "Show all threads" }).click();
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("combobox", { name: "What to filter by" }).selectOption("tag");
  await page.getByRole("textbox", { name: /Key and value/ }).fill("user_id=bruno");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/?tag=user_id%3Dbruno");
  await expect.poll(() => rows(page).count()).toBe(1);
  await page.reload();
  await rows(page).getByText("cart 88").waitFor();
  expect(await rows(page).count()).toBe(1);
});

test("a thread that another process writes appears by itself", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at("/"));
  await rows(page).first().waitFor();
  await chatAgent(place.another()).invoke(
    { messages: [{ role: "user", content: "Hello" }] },
    on("brand new"),
  );
  await rows(page).first().getByText("brand new").waitFor();
});
