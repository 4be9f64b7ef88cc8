import { MemorySaver } from "@stratigraph/core";
import type { WorkspaceKeeper } from "@stratigraph/core/tier";
import { createWorkspace } from "@stratigraph/workspace";
import { expect, test } from "vitest";
import { inspecting } from "./support/inspecting.ts";
import { settled } from "./support/settled.ts";
import { openTab } from "./support/tab.ts";
import { allRounds } from "../../../../../../test/rounds.ts";

test("a workspace: items, the history of one with author and reason, and a log that goes on by itself", async () => {
  const saver = new MemorySaver();
  const name = `trip/"Lisbon" <b>`;
  const planner = createWorkspace(saver, name, { agent: "planner" });
  const critic = createWorkspace(saver, name, { agent: "critic" });
  await planner.put(["plan"], "days", { city: "Bern" }, { reason: "the user asked" });
  await critic.put(["plan"], "days", { city: "Rome" }, { reason: "Bern was shut" });
  await planner.put(["files"], "/notes.md", { text: "<img src=/pwned onerror=pwned=1>" });
  const { at } = await inspecting(saver);
  const page = await openTab(at("/"));
  await page.getByRole("link", { name: "Workspaces" }).click();
  await page.getByRole("link", { name }).click();
  await page.getByRole("button", { name: "plan.days" }).click();
  const drawer = page.getByRole("dialog", { name: "plan.days" });
  await drawer.getByText("by planner").waitFor();
  await drawer.getByText("Bern was shut").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox", { name: "Search items" }).fill("rome");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "notes.md" }).waitFor({ state: "hidden" });
  await page.getByRole("link", { name: "Log" }).click();
  const log = page.getByRole("table", { name: "Log" });
  await log.getByText("the user asked").waitFor();
  await critic.topic("news").publish({ text: "all is booked" }, { reason: "at last" });
  await log.getByText("message on news").waitFor();
  expect(await log.getByRole("row").count()).toBe(5);
  await page.getByRole("searchbox", { name: "Only namespaces below" }).fill("plan");
  await page.keyboard.press("Enter");
  await expect.poll(() => log.getByRole("row").count()).toBe(3);
});

test.runIf(allRounds)(
  "two versions are compared from the log, the history and by address; items are shown as they were",
  async () => {
    const saver = new MemorySaver();
    const name = `100% "it's" 🚲 <b onclick=pwned=1> ${"long ".repeat(40)}end`;
    const key = `/notes "a'b" % 🐢 ${"long".repeat(40)}`;
    const trip = createWorkspace(saver, name, { agent: "planner" });
    const text = (end: string): string => `${"same ".repeat(100_000)}${end}${" same".repeat(100_000)}`;
    const first = await trip.put(["files"], key, { text: text("Bern") });
    await trip.put(["plan"], "budget", { euros: 900 });
    await trip.put(["files"], key, { text: text("Rome") });
    if (!first.ok) throw new Error("it was to be written");
    const { version } = first;
    const { at, url } = await inspecting(saver);
    const page = await openTab(at("/workspaces"));
    await page.getByRole("link", { name: "100%" }).click();
    await page.getByRole("heading", { level: 1, name: "100%" }).waitFor();
    // By keys alone: the log, the oldest change marked, the newest compared with it.
    // The heading is there before the page listens to keys.
    const isLog = async (): Promise<boolean> => {
      await page.keyboard.press("2");
      return new URL(page.url()).search.includes("tab=log");
    };
    await expect.poll(isLog).toBe(true);
    await page.getByRole("button", { name: `Mark version ${version}`, exact: true }).press("Enter");
    await page.getByRole("link", { name: `With ${version} from version ${version + 2}` }).press("Enter");
    const changes = page.getByRole("main");
    await changes.getByText("Rome").first().waitFor();
    await changes.getByText("Bern").first().waitFor();
    expect(new URL(page.url()).search).toBe(`?tab=diff&from=${version}&to=${version + 2}`);
    expect(await page.evaluate<string>("document.activeElement.tagName")).toBe("H1");
    const seen = await changes.textContent();
    await page.reload();
    await settled(page);
    expect(await changes.textContent()).toBe(seen);
    expect(await changes.getByRole("heading", { level: 3 }).allTextContents()).toEqual([
      expect.stringContaining("🐢"),
      "plan.budget",
    ]);
    // What the page was asked for is what the command asks for.
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText(`--from ${version} --to ${version + 2}`).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: `version ${version}`, exact: true }).click();
    await page.getByText(`As of version ${version}.`).waitFor();
    expect(await page.getByRole("table", { name: "Items" }).getByRole("row").count()).toBe(2);
    await page.getByRole("button", { name: "notes" }).click();
    await page.getByRole("link", { name: `Diff of version ${version + 2}` }).click();
    await page.getByText("Rome").first().waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toBe(String(version + 1));
    expect(await changes.getByRole("heading", { level: 3 }).count()).toBe(1);
    await page.setViewportSize({ width: 400, height: 700 });
    await settled(page);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(400);
    await page.goto(
      new URL(`/w/${encodeURIComponent(name)}?tab=diff&from=${version}&to=${version}`, url).href,
    );
    await page.getByText("No difference").waitFor();
  },
);

test("who holds which lock is shown while it is held", async () => {
  const saver = new MemorySaver();
  const planner = createWorkspace(saver, "trip", { agent: "planner" });
  await planner.put(["plan"], "days", { nights: 3 });
  const { at } = await inspecting(saver);
  const page = await openTab(at("/w/trip?tab=locks"));
  await page.getByText("No lock is held").waitFor();
  await planner.lock(`report "1" %`, {}, async ({ token }) => {
    const row = page.getByRole("table", { name: "Locks" }).getByRole("row", { name: `report "1" %` });
    await row.getByText("planner").waitFor();
    expect(await row.getByRole("cell").last().textContent()).toBe(String(token));
  });
  await page.getByText("No lock is held").waitFor();
});

test("a workspace that is deleted while it is shown is told to be gone, and shown again once it begins anew", async () => {
  const saver = new MemorySaver();
  const { workspaces } = saver.tier as unknown as WorkspaceKeeper;
  // Readers of a storage that wakes nobody look often.
  Object.defineProperty(workspaces, "changed", { value: undefined });
  const trip = createWorkspace(saver, "trip");
  await trip.put(["plan"], "days", { nights: 3 });
  const { at } = await inspecting(saver);
  const page = await openTab(at("/w/trip"), { expected: [/status of 4\d\d/] });
  await page.getByRole("button", { name: "plan.days" }).waitFor();
  // Once that is shown, the page follows from the version that is deleted, or from the one before.
  await trip.put(["plan"], "budget", { euros: 9 });
  await page.getByRole("button", { name: "plan.budget" }).waitFor();
  expect(await workspaces.delete("trip", await trip.version())).toBe(true);
  await page.getByText('There is no workspace "trip".').waitFor();
  await trip.put(["plan"], "again", { nights: 4 });
  await page.getByRole("button", { name: "plan.again" }).waitFor();
});

test("what changes before the page follows is shown, too", async () => {
  const saver = new MemorySaver();
  const trip = createWorkspace(saver, "trip");
  await trip.put(["plan"], "days", { nights: 3 });
  const { at } = await inspecting(saver);
  const page = await openTab(at("/workspaces"));
  let follow = (): void => {};
  const may = new Promise<void>((resolve) => (follow = resolve));
  const asked = page.waitForRequest("**/api/workspace-watch*");
  await page.route("**/api/workspace-watch*", async (route) => {
    await may;
    await route.continue();
  });
  await page.getByRole("link", { name: "trip" }).click();
  await asked;
  await page.getByRole("button", { name: "plan.days" }).waitFor();
  await settled(page);
  await trip.put(["plan"], "budget", { euros: 9 });
  follow();
  await page.getByRole("button", { name: "plan.budget" }).waitFor();
});

test.runIf(allRounds)(
  "a page of many items grows on request; a wrong moment is told with what to write",
  async () => {
    const saver = new MemorySaver();
    const trip = createWorkspace(saver, "trip");
    const put = (n: number) => ({ put: { namespace: ["plan"], key: `k${n}`, value: { n } } });
    for (let n = 0; n < 10; n += 1)
      await trip.transact(Array.from({ length: 100 }, (_, i) => put(100 * n + i)) as never);
    const { at } = await inspecting(saver);
    const page = await openTab(at("/w/trip"), { expected: [/status of 400/] });
    const rows = page.getByRole("table", { name: "Items" }).getByRole("row");
    for (const count of [100, 300, 900, 1000]) {
      await expect.poll(() => rows.count()).toBe(count + 1);
      if (count < 1000) await page.getByRole("button", { name: "Show more" }).click();
    }
    await page.getByRole("button", { name: "Show more" }).waitFor({ state: "hidden" });
    await page.getByRole("searchbox", { name: "As of" }).fill("yesterday");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("write a version, or a time as in ISO 8601").waitFor();
  },
);

test("what is redacted is in no part of a workspace, and comes with no change", async () => {
  const saver = new MemorySaver();
  const trip = createWorkspace(saver, "trip", { agent: "planner" });
  await trip.put(["plan"], "days", { city: "Bern", nights: 2 }, { reason: "Bern is near" });
  await trip.put(["plan"], "days", { city: "Rome", nights: 3 }, { reason: "Rome is warm" });
  await trip.topic("news").publish({ text: "to Rome" });
  const redact = ["workspaces.trip.plan.days.city", "workspaces.trip.topics.news"];
  const { at } = await inspecting(saver, { redact });
  const answers: string[] = [];
  const page = await openTab(at("/w/trip?tab=log"));
  page.on("response", (response) => {
    if (response.url().includes("/api/workspace-"))
      void response.text().then(
        (body) => answers.push(body),
        () => {},
      );
  });
  for (const part of ["?tab=log", "?tab=diff&from=1&to=2", "?item=plan.days", "?at=1", ""]) {
    await page.goto(at(`/w/trip${part}`));
    await page.getByText("redacted").first().waitFor();
    expect(`${part} ${await page.locator("body").textContent()}`).not.toMatch(/Bern|Rome/);
  }
  await trip.put(["plan"], "days", { city: "Rome", nights: 4 });
  await page.getByText("nights: 4").waitFor();
  expect(answers.some((body) => body.includes("cursor"))).toBe(true);
  expect(answers.join("\n")).not.toMatch(/Bern|Rome/);
});
