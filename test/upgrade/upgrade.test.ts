import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { officialExceptions } from "../../packages/tools/testing/src/differential/officialExceptions.ts";
import { play } from "../../packages/tools/testing/src/differential/play.ts";
import type { Note } from "../../packages/tools/testing/src/differential/stage.ts";
import { isAtLeast } from "../../packages/tools/testing/src/installedVersion.ts";
import { runChild } from "../servers/children.ts";
import { type FreshDatabase, freshDatabase, sharedRedis } from "../servers/shared.ts";
import type { Begun } from "./beginChild.ts";
import { openSavers } from "./openSavers.ts";
import { parts } from "./parts.ts";

// Threads that were begun with the oldest LangGraph that is supported go on with the installed one. A copy of the repository with
// the old one plays the first acts of every scenario, in a process of its own; here the others follow. The official MemorySaver
// does the same, its content handed over, and all that can be seen from then on must be equal.

const OLD = "1.4.12";

let folder: string;
let database: FreshDatabase;
let opened: Awaited<ReturnType<typeof openSavers>>;
let begun: Begun;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratigraph-upgrade-"));
  const prepare = join(import.meta.dirname, "../run/langgraph-versions.mjs");
  await promisify(execFile)(process.execPath, [prepare, "--prepare", OLD, folder]);
  database = await freshDatabase();
  const { url, prefix } = await sharedRedis();
  const child = runChild<Begun>(join(folder, "test/upgrade/beginChild.ts"), [database.url, url, prefix]);
  begun = await child.message((message) => "storage" in message);
  await child.exit;
  opened = await openSavers({ url: database.url, redis: url, prefix });
}, 600_000);

afterAll(async () => {
  await opened?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

test("the threads were begun with another LangGraph", () => {
  expect([begun.langgraph, begun.checkpoint]).toEqual([OLD, "1.1.5"]);
  expect(isAtLeast("@langchain/langgraph", "1.5.0")).toBe(true);
});

// What the official MemorySaver gets wrong before the upgrade, or after it, can't be compared with it: our savers go on alone then.
const exceptions = new Map([...officialExceptions(OLD), ...officialExceptions()]);
for (const { name, scenario, durability, part } of parts("from")) {
  const exception = exceptions.get(`${scenario.name}, ${durability}`);
  test(exception === undefined ? name : `${name}, without comparison: ${exception.reason}`, async () => {
    if (exception !== undefined) {
      for (const saver of Object.values(opened.savers))
        expect((await play(scenario, durability, async () => saver, part)).asLive).toBe(true);
      return;
    }
    const official = Object.assign(new MemorySaver(), { storage: begun.storage, writes: begun.writes });
    const wanted = await play(scenario, durability, async () => official, part);
    for (const [kind, saver] of Object.entries(opened.savers)) {
      const found = await play(scenario, durability, async () => saver, part);
      expectSame(kind, found.notes, wanted.notes);
    }
  });
}

function expectSame(kind: string, found: readonly Note[], wanted: readonly Note[]): void {
  for (const [index, note] of wanted.entries())
    expect(found[index], `${kind}, note ${index}: ${note[0]}`).toEqual(note);
  expect(found).toHaveLength(wanted.length);
}
