import { readFileSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ms } from "./format.ts";
import type { BuildInput, BuildResult, BuildSaver } from "./jobs/replayBuild.ts";
import type { Build } from "./libraries.ts";
import { type Share, summarise } from "./profileSummary.ts";
import { sourcePosition } from "./sourcePosition.ts";
import type { BenchContext, Table } from "./types.ts";

/** Rows of the tables of functions and of files. */
const ROWS = 40;

/** What one saver's run, or listing its history, spends its time on: tables of packages, of our files and of functions. */
export async function profile(
  context: BenchContext,
  saver: BuildSaver,
  build: Build,
  of: "run" | "history",
): Promise<Table[]> {
  const file = join(tmpdir(), `stratigraph-${saver}-${build}-${of}.cpuprofile`);
  const conversations = context.options.quick ? 5 : 20;
  const result = await context.inChild<BuildResult>(
    new URL("./jobs/replayBuild.ts", import.meta.url),
    {
      build,
      saver,
      url: context.postgresUrl,
      schema: "profile",
      conversationsFile: context.conversationsFile ?? "",
      conversations,
      profile: { of, file },
    } satisfies BuildInput,
    "built",
  );
  const summary = summarise(JSON.parse(readFileSync(file, "utf8")) as Profiler.Profile, sourcePosition);
  const { wall, cpu } = result[of];
  const table = (title: string, shares: Share[], notes: string[]): Table => ({
    title,
    columns: ["", "self", "of the time", "with callees", "of the time"],
    rows: shares.map(({ name, self, total }) => [
      name,
      ms(self),
      percent(self / summary.wall),
      ms(total),
      percent(total / summary.wall),
    ]),
    notes,
  });
  return [
    table(`${saver}, ${build}, ${of}: by package`, summary.packages, [
      `${conversations} conversations, warmed; wall ${ms(wall)}, CPU ${ms(cpu)} with the profiler on. ` +
        "CPU above the wall less (idle) was used by other threads: garbage collection, compiling, zlib.",
      "(idle) waits for the database; (program) is native code called by nobody in JavaScript, the event loop's for example; " +
        'calls of sockets, hashes and zlib from JavaScript are "native functions".',
    ]),
    table("By file of ours", summary.files.slice(0, ROWS), []),
    table("By function", summary.functions.slice(0, ROWS), [
      "Callees end at an await: what runs after it is called by the event loop.",
      `The whole profile, for Chrome's or VS Code's viewer: ${file}`,
    ]),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
