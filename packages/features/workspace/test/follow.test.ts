import type {
  LoggedChange,
  LogPage,
  LogQuery,
  WorkspaceNews,
  WorkspaceStorage,
} from "@stratigraph/core/tier";
import { expect, test } from "vitest";
import { follow } from "../src/follow.ts";
import type { Parts } from "../src/parts.ts";
import { SharedReads } from "../src/sharedReads.ts";

// How often readers look at a log.

const empty: LogPage = {
  ...{ version: 0, trimmed: 0, changedAtMs: 0, afterVersion: 0, afterAtMs: 0 },
  ...{ entries: [], more: false },
};
const never = new Promise<void>(() => undefined);
const entry = (version: number): LoggedChange => ({
  ...{ namespace: [], key: `${version}`, version, atMs: 0, kind: "put" },
  note: Buffer.from(""),
});

/** Follows a log until it is stopped. */
function following(news: WorkspaceNews | undefined, log: (query: LogQuery) => LogPage = () => empty) {
  let looks = 0;
  const seen: number[] = [];
  const stop = new AbortController();
  const workspaces: Partial<WorkspaceStorage> = {
    log: async (_, query) => {
      looks += 1;
      return log(query);
    },
    ...(news !== undefined && { changed: () => news }),
  };
  const ended = (async () => {
    await Promise.resolve();
    const parts = { workspaces, reads: new SharedReads(workspaces as WorkspaceStorage, "w"), name: "w" };
    for await (const { version } of follow(parts as Parts, [[]], { version: 0 }, stop.signal))
      seen.push(version);
  })();
  return {
    seen,
    looks: () => looks,
    stop: async (): Promise<void> => {
      stop.abort();
      await ended;
    },
  };
}

test("readers look as often if nobody tells of other processes, and seldom if all news are told of", async () => {
  const startedAt = performance.now();
  const here = following({ come: never, ofAllProcesses: false });
  const told = following({ come: never, ofAllProcesses: true });
  await new Promise<void>((resolve) => {
    const plain = following(undefined, () => {
      if (plain.looks() === 5) void plain.stop().then(resolve);
      return empty;
    });
  });
  const most = 1 + (performance.now() - startedAt) / 5000;
  await Promise.all([here.stop(), told.stop()]);
  expect(here.looks()).toBeGreaterThanOrEqual(4);
  expect(told.looks()).toBeLessThanOrEqual(most);
});

test("however many news there are, each entry comes once, and looks have pauses", async () => {
  const startedAt = performance.now();
  let version = 0;
  let done: (() => void) | undefined;
  const all = new Promise<void>((resolve) => (done = resolve));
  const reader = following({ come: Promise.resolve(), ofAllProcesses: true }, ({ after = 0 }) => {
    // Nothing new at every second look.
    if (reader.looks() % 2 === 0 && version < 20) version += 2;
    if (after === 20) done!();
    const entries = Array.from({ length: version - after }, (_, n) => entry(after + n + 1));
    return { ...empty, version, afterVersion: after, entries };
  });
  await all;
  // The pause is 20 ms, and timers may be a little early.
  const most = 1 + (performance.now() - startedAt) / 15;
  await reader.stop();
  expect(reader.looks()).toBeLessThanOrEqual(most);
  expect(reader.seen).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
});
