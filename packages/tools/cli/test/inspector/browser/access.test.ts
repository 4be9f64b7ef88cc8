import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inRounds } from "../../../../../../test/rounds.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onPostgres, type Place } from "./support/places.ts";
import { settled } from "./support/settled.ts";
import { openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onPostgres();
  await seed(place.saver, ["race", "stopped", "trip", "support", "workspace"]);
});
afterAll(() => place.close());

const lisbon = encodeURIComponent("trip to Lisbon");

/** Every view, with data in it. */
const VIEWS = {
  threads: "/",
  thread: `/t/${lisbon}`,
  lanes: "/t/cart%2088",
  failed: "/t/import%2F2026-11-22?tab=writes",
  "long writes": "/t/support%2F4712?tab=writes",
  waiting: "/t/review%2Fridley",
  conversation: "/t/support%2F4711",
  calls: "/t/support%2F4712/calls",
  "thread's storage": "/t/support%2F4711/storage",
  diff: `/diff?a=${lisbon}%2Fcheapest&b=${lisbon}%2Fcentral`,
  blame: `/blame?at=${lisbon}&path=price`,
  compare: `/compare?threads=${lisbon}%2Fcheapest&threads=${lisbon}%2Fcentral`,
  conflicts: "/conflicts",
  merge: `/t/${lisbon}/merge?from=${lisbon}%2Fcheapest`,
  workspaces: "/workspaces",
  "items of a workspace": `/w/${lisbon}`,
  "log of a workspace": `/w/${lisbon}?tab=log`,
  "diff of a workspace": `/w/${lisbon}?tab=diff&from=0`,
  "locks of a workspace": `/w/${lisbon}?tab=locks`,
  "history of an item": `/w/${lisbon}?item=facts.stay`,
  "what if": `/whatif?at=${lisbon}`,
  "what if of nothing": "/whatif",
  storage: "/storage",
  health: "/verify",
  nowhere: "/no/such/view",
};

const violations = async (page: Page, only?: string): Promise<string[]> => {
  const options = only === undefined ? {} : { runOnly: [only] };
  const found = await page.evaluate<axe.AxeResults>(`axe.run(${JSON.stringify(options)})`);
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  );
};

/** Buttons, links and fields of which a part is beyond the window, unless they can be scrolled to. */
const CUT = `[...document.querySelectorAll("main button, main a, main input, main select")]
  .filter((element) => {
    const { left, right, width } = element.getBoundingClientRect();
    if (width === 0) return false;
    for (let box = element.parentElement; box !== null; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible" && box.scrollWidth > box.clientWidth) return false;
    return right > innerWidth + 1 || left < -1;
  })
  .map((element) => element.outerHTML.slice(0, 200))`;

/** With few rounds the views that have most in them. */
const few = [
  "threads",
  "lanes",
  "conversation",
  "compare",
  "merge",
  "what if",
  "what if of nothing",
  "long writes",
  "log of a workspace",
  "diff of a workspace",
];
const names = inRounds<readonly string[]>({ few, all: Object.keys(VIEWS) });

test.each(Object.entries(VIEWS).filter(([name]) => names.includes(name)))(
  "%s can be read by all, in light and dark, and fits 360 pixels",
  async (name, path) => {
    const { at } = await inspecting(place.saver, { allow: ["read", "write", "destroy"] });
    const page = await openTab(at(path), { colorScheme: "light" });
    await settled(page);
    await page.evaluate(axe.source);
    const told = await violations(page);
    await page.emulateMedia({ colorScheme: "dark" });
    told.push(...(await violations(page, "color-contrast")).map((each) => `dark: ${each}`));
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    told.push(...(await violations(page, "scrollable-region-focusable")).map((each) => `narrow: ${each}`));
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    if (width > 360) told.push(`${name} is ${width} pixels wide`);
    told.push(...(await page.evaluate<string[]>(CUT)).map((element) => `beyond 360 pixels: ${element}`));
    expect(told).toEqual([]);
  },
);
