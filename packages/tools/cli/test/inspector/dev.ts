// Serves the inspector over the seeds in memory (or over the storage in STRATIGRAPH_URL), and builds the page again whenever it changes:
//   node --conditions=@stratigraph/source --import tsx packages/tools/cli/test/inspector/dev.ts [port] [everything]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { inspect } from "../../src/inspector/index.ts";
import { openCheckpointer } from "../../../../features/stratigraph/src/internal.ts";
import { graphsOn } from "./seeds/graphs.ts";
import { everyday, everything, seed } from "./seeds/seed.ts";
import { buildPage } from "./support/buildPage.ts";

const url = process.env["STRATIGRAPH_URL"];
const saver =
  url === undefined ? new TierSaver(new MemoryTier(), { threadTags: ["user_id"] }) : openCheckpointer(url);
// "everything" has hostile threads too, one of 20,000 checkpoints and a value of 12 MB.
if (url === undefined)
  await seed(saver, process.argv[3] === "everything" ? everything : ["workspace", ...everyday]);
const graphs = graphsOn(saver);
const pageFolder = await mkdtemp(join(tmpdir(), "stratigraph-page-"));
await buildPage(pageFolder, true);
const inspector = await inspect({
  saver,
  pageFolder,
  port: Number(process.argv[2] ?? 0),
  graphs: Object.keys(graphs),
  graph: async (name = "trip") => graphs[name as keyof typeof graphs] as never,
  allow: ["read", "write", "destroy"],
  storage: url === undefined ? "memory" : new URL(url).host,
  origin: "dev.ts",
  onError: (error) => process.stderr.write(`${(error as Error).stack ?? String(error)}\n`),
});
process.stdout.write(`${inspector.url}\n`);
process.once("SIGINT", () => {
  void (async () => {
    await inspector.close();
    await saver.end();
    await rm(pageFolder, { recursive: true });
    process.exit(0);
  })();
});
