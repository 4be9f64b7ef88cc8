import { readdirSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { query, startPostgres } from "../servers/postgres.ts";
import { inChild } from "./child.ts";
import { findConversations } from "./conversations.ts";
import { formatTable } from "./format.ts";
import { type Build, BUILDS } from "./libraries.ts";
import { profile, type ProfileOf } from "./profile.ts";
import { SAVERS } from "./savers.ts";
import { targets } from "./targets.ts";
import type { BenchContext, BenchOptions, SaverId, Section, Table } from "./types.ts";
import { writeReport } from "./writeReport.ts";

const USAGE = `pnpm bench [--quick] [--full] [--write] [--generated] [--only section]… [--saver id]… [--build build]…
pnpm bench --profile [--history | --cold] [--quick] [--saver id]… [--build build]…
  --quick   5 conversations and small states: shows that the bench works
  --full    also what takes minutes: the official PostgresSaver on all 60 conversations
  --write   writes docs/benchmarks.md
  --generated  replays generated conversations, also where the recorded ones are there
  --only    a section of test/bench/sections; may be repeated
  --saver   one of ${Object.keys(SAVERS).join(", ")}; may be repeated
  --build   LangGraph, LangChain and the savers imported (esm) or required (cjs), in the sections that
            compare them; both where it isn't given
  --profile what a run spends its time on, by package, file and function; of our PostgresSaver, as CommonJS,
            where --saver and --build don't say otherwise; with --history of listing a thread's history,
            with --cold of the first seconds of a process with 8 threads
`;

await main(readOptions());

async function main(options: BenchOptions): Promise<void> {
  const load = loadavg()[0] ?? 0;
  // PostgreSQL 15 with its defaults: fsync and synchronous_commit are on.
  const server = await startPostgres({ fsync: true, version: 15 });
  try {
    await bench(options, server.url, load);
  } finally {
    await server.stop();
  }
}

async function bench(options: BenchOptions, postgresUrl: string, load: number): Promise<void> {
  const conversations = findConversations(options);
  say(`The conversations are ${conversations.origin} ones.`);
  const context: BenchContext = {
    options,
    postgresUrl,
    savers: await availableSavers(postgresUrl, options.saver),
    conversations,
    figures: new Map(),
    failed(what, error) {
      say(`FAILED: ${what}: ${String(error)}`);
      process.exitCode = 1;
    },
    inChild,
  };
  if (options.profile !== undefined) return await printProfiles(context, options.profile);
  const tables: Table[] = [];
  for (const section of await sections(options.only)) {
    if (section.needsPostgresSaver === true && !context.savers.includes("postgres")) {
      say(`Skipped the section "${section.name}": it measures our PostgresSaver.`);
      continue;
    }
    const start = performance.now();
    const made = await section.run(context).catch((error: unknown) => {
      context.failed(`section "${section.name}"`, error);
    });
    if (made === undefined) continue;
    const ofSection = [made].flat();
    tables.push(...ofSection);
    for (const table of ofSection) say(`\n${formatTable(table)}`);
    say(`(${section.name}: ${((performance.now() - start) / 1000).toFixed(1)} s)`);
  }
  const summary = targets(context.figures);
  say(`\n${formatTable(summary)}`);
  if (options.write) {
    const [row] = await query(postgresUrl, "SHOW server_version");
    const file = writeReport([summary, ...tables], {
      postgresVersion: String(row?.["server_version"]),
      conversations: conversations.origin,
      command: ["pnpm bench", ...process.argv.slice(2)].join(" "),
      load,
    });
    say(`Wrote ${file}.`);
  }
}

async function printProfiles(context: BenchContext, of: ProfileOf): Promise<void> {
  const { saver, build } = context.options;
  for (const id of saver.length > 0 ? context.savers : (["postgres"] as const))
    for (const each of build.length > 0 ? build : (["cjs"] as const))
      for (const table of await profile(context, id, each, of)) say(`\n${formatTable(table)}`);
}

function readOptions(): BenchOptions {
  const { values } = parseArgs({
    // pnpm passes the "--" on that npm removes.
    args: process.argv.slice(2).filter((arg) => arg !== "--"),
    options: {
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      generated: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      saver: { type: "string", multiple: true, default: [] },
      build: { type: "string", multiple: true, default: [] },
      profile: { type: "boolean", default: false },
      history: { type: "boolean", default: false },
      cold: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    say(USAGE);
    process.exit(0);
  }
  if (values.write && (values.quick || values.only.length > 0 || values.saver.length > 0))
    throw new Error("--write needs a whole run: leave --quick, --only and --saver out");
  const unknown = values.saver.filter((id) => !(id in SAVERS));
  if (unknown.length > 0) throw new Error(`no saver is called ${unknown.join(", ")}`);
  const { build, history, cold, ...rest } = values;
  const otherBuild = build.find((name) => !BUILDS.includes(name as Build));
  if (otherBuild !== undefined) throw new Error(`no build is called ${otherBuild}: esm or cjs`);
  if ((history || cold) && !values.profile) throw new Error("--history and --cold go with --profile");
  const of = history ? "history" : cold ? "cold" : "run";
  return { ...rest, build: build as Build[], profile: values.profile ? of : undefined };
}

async function availableSavers(url: string, wanted: string[]): Promise<SaverId[]> {
  const available: SaverId[] = [];
  for (const id of Object.keys(SAVERS) as SaverId[]) {
    if (wanted.length > 0 && !wanted.includes(id)) continue;
    const opened = await SAVERS[id].open({ url, schema: `probe_${id.replace("-", "_")}` }, "esm");
    if (opened === undefined) say(`Not in this checkout yet, left out: ${SAVERS[id].label}.`);
    else {
      await opened.close();
      available.push(id);
    }
  }
  return available;
}

async function sections(only: string[]): Promise<Section[]> {
  const folder = new URL("./sections/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts"));
  const all = await Promise.all(files.map((file) => import(new URL(file, folder).href) as Promise<Section>));
  const unknown = only.filter((name) => !all.some((section) => section.name === name));
  if (unknown.length > 0) throw new Error(`no section is called ${unknown.join(", ")}`);
  return all
    .filter((section) => only.length === 0 || only.includes(section.name))
    .toSorted((a, b) => (a.order ?? 100) - (b.order ?? 100));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
