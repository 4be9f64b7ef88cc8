import { readFileSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ms } from "./format.ts";
import type { GraphThroughputInput, GraphThroughputResult } from "./jobs/graphThroughput.ts";
import type { BuildInput, BuildResult } from "./jobs/replayBuild.ts";
import type { Build } from "./libraries.ts";
import { type Share, summarise } from "./profileSummary.ts";
import { sourcePosition } from "./sourcePosition.ts";
import type { BenchContext, SaverId, Table } from "./types.ts";

/** Rows of the tables of functions and of files. */
const ROWS = 40;

/**
 * What is profiled: a warmed run of the conversations on one thread, listing that thread's history, or the first seconds of a cold
 * process with several threads.
 */
export type ProfileOf = "run" | "history" | "cold";

/** What one saver spends its time on: tables of packages, of our files and of functions. */
export async function profile(
  context: BenchContext,
  saver: SaverId,
  build: Build,
  of: ProfileOf,
): Promise<Table[]> {
  const file = join(tmpdir(), `stratigraph-${saver}-${build}-${of}.cpuprofile`);
  const measured =
    of === "cold" ? await cold(context, saver, build, file) : await warmed(context, saver, build, of, file);
  const summary = summarise(JSON.parse(readFileSync(file, "utf8")) as Profiler.Profile, sourcePosition);
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
      `${measured}, with the profiler on. ` +
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

/** Returns what was measured, in words. */
async function warmed(
  { options, postgresUrl, conversations, inChild }: BenchContext,
  saver: SaverId,
  build: Build,
  of: "run" | "history",
  file: string,
): Promise<string> {
  const count = options.quick ? 5 : 20;
  const input = {
    build,
    saver,
    url: postgresUrl,
    schema: `profile_${build}`,
    conversationsFile: conversations.file,
    conversations: count,
    profile: { of, file },
  } satisfies BuildInput;
  const job = new URL("./jobs/replayBuild.ts", import.meta.url);
  const { wall, cpu } = (await inChild<BuildResult>(job, input, "built"))[of];
  return `${count} ${conversations.origin} conversations, warmed; wall ${ms(wall)}, CPU ${ms(cpu)}`;
}

async function cold(
  { options, postgresUrl, conversations, inChild }: BenchContext,
  saver: SaverId,
  build: Build,
  file: string,
): Promise<string> {
  const [seconds, threads] = [options.quick ? 2 : 10, 8];
  const input = {
    build,
    saver,
    url: postgresUrl,
    redisUrl: "",
    schema: `profile_cold_${build}`,
    conversationsFile: conversations.file,
    process: 0,
    processes: 1,
    threads,
    startLine: "",
    forMs: seconds * 1000,
    profile: file,
  } satisfies GraphThroughputInput;
  const job = new URL("./jobs/graphThroughput.ts", import.meta.url);
  const { puts, cpu } = await inChild<GraphThroughputResult>(job, input, "built");
  return `The first ${seconds} s of a process with ${threads} threads, cold; ${puts.length} puts, CPU ${ms(cpu)}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
