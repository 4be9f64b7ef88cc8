import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tripAgent } from "../seeds/trip.ts";
import { on } from "../seeds/on.ts";
import { allRounds, inRounds } from "../../../../../../test/rounds.ts";
import { seedLong } from "../seeds/large.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onPostgres, type Place } from "./support/places.ts";
import { openTab } from "./support/tab.ts";

// The page does the same for each thousand, so that few rounds do with some of them.
const length = inRounds({ few: 3000, all: 6000, soak: 20_000 });
let place: Place;
beforeAll(async () => {
  place = await onPostgres();
  await seed(place.saver, ["trip", "race"]);
  await seedLong(place.saver, length);
});
afterAll(() => place.close());

const rows = (page: Page) => page.getByRole("grid", { name: "History" }).getByRole("row");

test("a history tells of forks, merges and lost races, and of who wrote what", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(`/t/${encodeURIComponent("trip to Lisbon")}`));
  await rows(page)
    .first()
    .getByTitle(/^Merges /)
    .waitFor();
  expect(await rows(page).count()).toBe(7);
  await rows(page).getByTitle("The thread trip to Lisbon/thorough was forked from here").click();
  await page.waitForURL("**/t/trip%20to%20Lisbon%2Fthorough");
  await page.getByRole("link", { name: "trip to Lisbon", exact: true }).first().click();
  await page.goto(at("/t/cart%2088").split("#")[0]!);
  await expect.poll(() => rows(page).getByText("lost race").count()).toBe(3);
  await page.goto(at("/t/trip%20to%20Lisbon%2Fcheapest").split("#")[0]!);
  await rows(page).first().getByTitle("Set by hand: price, place").waitFor();
});

test("what a run adds appears by itself", async () => {
  const { at } = await inspecting(place.saver);
  const page = await openTab(at(`/t/${encodeURIComponent("trip to Lisbon/central")}`));
  await rows(page).first().waitFor();
  const before = await rows(page).count();
  const graph = tripAgent(place.another());
  await graph.updateState(on("trip to Lisbon/central"), { price: 120 }, "agent");
  await expect.poll(() => rows(page).count()).toBe(before + 1);
  await rows(page).first().getByText("head").waitFor();
});

test.runIf(allRounds)(
  `${length} checkpoints are scrolled to the first, with few rows in the page`,
  async () => {
    const { at } = await inspecting(place.saver);
    const page = await openTab(at(`/t/${length}%20steps`));
    const history = page.getByRole("grid", { name: "History" });
    await rows(page).first().waitFor();
    await history.focus();
    // Each key loads a page; an address in the middle would too.
    await expect
      .poll(
        async () => {
          await page.keyboard.press("End");
          return await history.getAttribute("aria-rowcount");
        },
        { timeout: 60_000, interval: 30 },
      )
      .toBe(String(length));
    await page.keyboard.press("End");
    await rows(page).last().getByTitle("Step -1").waitFor();
    expect(await rows(page).last().getAttribute("aria-rowindex")).toBe(String(length));
    expect(await rows(page).count()).toBeLessThan(80);
  },
);
