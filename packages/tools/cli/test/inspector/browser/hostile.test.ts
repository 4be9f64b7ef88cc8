import { afterAll, beforeAll, expect, test } from "vitest";
import { inRounds } from "../../../../../../test/rounds.ts";
import { hostileIds } from "../seeds/hostile.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onStack, type Place } from "./support/places.ts";
import { openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onStack();
  await seed(place.saver, ["hostile"]);
});
afterAll(() => place.close());

test("every hostile id is listed, opened by its link and by its address, and shown as it is", async () => {
  const { at, url } = await inspecting(place.saver);
  const page = await openTab(at("/"), { viewport: { width: 1280, height: 1200 } });
  const links = page.getByRole("grid", { name: "Threads" }).getByRole("link");
  await expect.poll(() => links.count()).toBe(hostileIds.length);
  const listed = await links.evaluateAll((all) =>
    all.map((link) => ({ id: link.getAttribute("title"), path: link.getAttribute("href")! })),
  );
  expect(listed.map(({ id }) => id).toSorted()).toEqual(hostileIds.toSorted());
  for (const { id, path } of listed.filter((_, n) => n % inRounds({ few: 3, all: 1 }) === 0)) {
    await page.goto(new URL(path, url).href);
    await page.getByRole("grid", { name: "History" }).getByRole("row").first().waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toContain(id);
    expect(await page.title()).toContain(id!.trim().split(/\s/)[0]);
  }
});
