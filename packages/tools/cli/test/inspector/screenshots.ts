// Makes the pictures of docs/guides/inspector.md: pnpm screenshots [part of a name] [folder]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "../../src/inspector/index.ts";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { chromium, type Browser, type Page } from "playwright-core";
import { startChromium } from "../../../../../test/servers/chromium.ts";
import { startPostgres } from "../../../../../test/servers/postgres.ts";
import { startRedis } from "../../../../../test/servers/redis.ts";
import { asIfAt } from "./seeds/asIfAt.ts";
import { graphsOn } from "./seeds/graphs.ts";
import { settled } from "./browser/support/settled.ts";
import { everyday, seed } from "./seeds/seed.ts";
import { buildPage } from "./support/buildPage.ts";

const [only = "", folder = join(import.meta.dirname, "../../../../../docs/images/inspector")] =
  process.argv.slice(2);

interface Picture {
  readonly name: string;
  readonly path: (ids: Ids) => string;
  /** What is done on the page before the picture is taken. */
  readonly act?: (page: Page) => Promise<unknown>;
  readonly width?: number;
  readonly height?: number;
  readonly schemes?: readonly ("light" | "dark")[];
}

/** Checkpoints that addresses name: by thread, newest first. */
type Ids = (thread: string, index?: number) => string;

const at = (thread: string): string => `/t/${encodeURIComponent(thread)}`;

const ways = ["cheapest", "central", "thorough"].map((way) => `trip to Lisbon/${way}`);
const listed = (name: string, values: readonly string[]): string =>
  values.map((value) => `${name}=${encodeURIComponent(value)}`).join("&");

/** Those that run what-if come last: they add a thread. */
const PICTURES: readonly Picture[] = [
  { name: "threads", path: () => "/" },
  {
    name: "thread",
    path: (id) => `${at("support/4711")}/c/${id("support/4711", 3)}`,
    schemes: ["light", "dark"],
  },
  { name: "lanes", path: () => at("cart 88") },
  { name: "writes", path: (id) => `${at("import/2026-11-22")}/c/${id("import/2026-11-22")}?tab=writes` },
  { name: "waiting", path: () => at("review/ridley") },
  { name: "diff", path: () => `/diff?a=${encodeURIComponent(ways[0]!)}&b=${encodeURIComponent(ways[1]!)}` },
  { name: "blame", path: () => `/blame?at=${encodeURIComponent("trip to Lisbon/cheapest")}&path=place` },
  { name: "compare", path: () => `/compare?${listed("threads", ways)}` },
  {
    name: "conflicts",
    path: () => "/conflicts",
    act: (page) => page.getByRole("button", { name: "Both sides" }).click(),
  },
  {
    name: "merge",
    path: () =>
      `${at("trip to Lisbon/cheapest")}/merge?from=${encodeURIComponent("trip to Lisbon/thorough")}&graph=trip`,
  },
  { name: "calls", path: () => `${at("support/4712")}/calls` },
  {
    name: "storage",
    path: () => "/storage",
    act: (page) => page.getByRole("button", { name: "Measure" }).click(),
  },
  {
    name: "health",
    path: () => "/verify",
    act: (page) => page.getByRole("button", { name: "Verify" }).click(),
  },
  { name: "workspace", path: () => `/w/${encodeURIComponent("trip to Lisbon")}?tab=log` },
  {
    name: "workspace-diff",
    path: () => `/w/${encodeURIComponent("trip to Lisbon")}?tab=diff&from=0`,
    act: async (page) => {
      // Versions differ between runs: the two that the log's rows lead to.
      await page.getByRole("link", { name: "Log" }).click();
      await page.getByRole("row", { name: "the cheapest one" }).getByRole("button", { name: "Mark" }).click();
      await page.getByRole("row", { name: "/report.md" }).getByRole("link", { name: "With" }).click();
    },
  },
  {
    name: "narrow",
    path: (id) => `${at("support/4711")}/c/${id("support/4711", 3)}`,
    width: 360,
    height: 740,
  },
  {
    name: "whatif",
    path: (id) => `/whatif?${listed("at", [`${ways[0]!}@${id(ways[0]!, 6)}`])}&channel=strategy&graph=trip`,
    act: (page) => page.getByRole("textbox", { name: "New value" }).fill('"central"'),
  },
  {
    name: "whatif-run",
    path: (id) => `/whatif?${listed("at", [`${ways[0]!}@${id(ways[0]!, 6)}`])}&channel=strategy&graph=trip`,
    act: async (page) => {
      await page.getByRole("textbox", { name: "New value" }).fill('"central"');
      await page.getByRole("button", { name: /^Create/ }).click();
      await page.getByRole("button", { name: "Run to the end" }).click();
      await page.getByTestId("outcome").getByText("Done").waitFor();
    },
  },
];

const minute = 60_000;
const pageFolder = mkdtempSync(join(tmpdir(), "stratigraph-page-"));
const [database, cache, server] = await Promise.all([startPostgres(), startRedis(), startChromium()]);
const saver = new TieredSaver({
  hot: redis({ url: cache.url, ttl: "1d" }),
  warm: postgres({ url: database.url }),
  threadTags: ["user_id"],
});
try {
  await buildPage(pageFolder);
  await saver.setup();
  for (const [n, name] of everyday.entries())
    await asIfAt(Date.now() - (everyday.length - n) ** 3 * 9 * minute, 40, () => seed(saver, [name]));
  await seed(saver, ["workspace"]);
  const graphs = graphsOn(saver);
  const inspector = await inspect({
    saver,
    pageFolder,
    graphs: Object.keys(graphs),
    graph: async (name = "trip") => graphs[name as keyof typeof graphs] as never,
    allow: ["read", "write", "destroy"],
    storage: "redis › postgresql://db.internal/agents",
    origin: "stratigraph.config.ts",
    pollMs: 3_600_000,
  });
  try {
    const browser = await chromium.connectOverCDP(server.url);
    mkdirSync(folder, { recursive: true });
    const ids = await checkpoints();
    for (const picture of PICTURES.filter(({ name }) => name.includes(only)))
      for (const scheme of picture.schemes ?? ["light"])
        await take(browser, inspector.url, picture, scheme, ids);
    await browser.close();
  } finally {
    await inspector.close();
  }
} finally {
  await saver.end();
  await Promise.all([database.stop(), cache.stop(), server.stop()]);
  rmSync(pageFolder, { recursive: true });
}

async function checkpoints(): Promise<Ids> {
  const found = new Map<string, string[]>();
  for (const { threadId } of (await saver.listThreads({ limit: 100 })).threads) {
    const ids: string[] = [];
    for await (const { checkpoint } of saver.list({
      configurable: { thread_id: threadId, checkpoint_ns: "" },
    }))
      ids.push(checkpoint.id);
    found.set(threadId, ids);
  }
  return (thread, index = 0) => found.get(thread)?.[index] ?? "";
}

async function take(
  browser: Browser,
  url: string,
  picture: Picture,
  scheme: "light" | "dark",
  ids: Ids,
): Promise<void> {
  const { name, path, act, width = 1280, height = 800 } = picture;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.on("console", (message) => process.stderr.write(`${name}: ${message.type()} ${message.text()}\n`));
  page.on("pageerror", (error) => process.stderr.write(`${name}: ${error.stack}\n`));
  const { origin, hash } = new URL(url);
  await page.goto(`${origin}${path(ids)}${hash}`);
  await settled(page);
  await act?.(page);
  await settled(page);
  const suffix = (picture.schemes ?? []).length > 1 ? `-${scheme}` : "";
  writeFileSync(join(folder, `${name}${suffix}.png`), await page.screenshot());
  await context.close();
}
