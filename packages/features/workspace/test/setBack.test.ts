import { beforeAll, describe, expect, test } from "vitest";
import { createWorkspace, type Workspace } from "../src/index.ts";
import { holding, storageOf, storages, type SetBackStorage } from "./setBackStorages.ts";

// A backup is restored while readers live on: versions that they have seen are issued again, to other entries.

/** Who reads a workspace: one that watches it, one that subscribes to a topic. What they saw, in order; and what ended them. */
function readers(workspace: Workspace) {
  const stop = new AbortController();
  const { signal } = stop;
  const watched: string[] = [];
  const messages: unknown[] = [];
  let look: (() => void) | undefined;
  const over = new Set<string>();
  const ended = async (who: string, reading: () => Promise<void>): Promise<unknown> => {
    const error = await reading().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    over.add(who);
    look?.();
    return error;
  };
  const ends = [
    ended("watcher", async () => {
      for await (const event of workspace.watch({ since: 0, signal })) {
        if ("key" in event) watched.push(event.key);
        look?.();
      }
    }),
    ended("subscriber", async () => {
      for await (const { body, ack } of workspace.topic("t").subscribe("s", { signal })) {
        messages.push(body["n"]);
        await ack();
        look?.();
      }
    }),
  ];
  return {
    watched,
    messages,
    /** Waits until each of them saw a put or a message, or ended. */
    until: async (key: string, n: unknown): Promise<void> => {
      const isDone = (): boolean =>
        (over.has("watcher") || watched.includes(key)) && (over.has("subscriber") || messages.includes(n));
      while (!isDone())
        await new Promise<void>((resolve) => {
          look = resolve;
        });
    },
    /** Returns what ended them before. */
    stop: async (): Promise<unknown[]> => {
      stop.abort();
      return await Promise.all(ends);
    },
  };
}

async function write(workspace: Workspace, name: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await workspace.put(["a"], `${name} ${n}`, {});
    await workspace.topic("t").publish({ n: `${name} ${n}` });
  }
}

const names = (name: string) => (count: number) => Array.from({ length: count }, (_, n) => `${name} ${n}`);
const [kept, lost] = [names("kept"), names("lost")];
const gone: unknown = expect.objectContaining({
  ...{ code: "VERSION_GONE", message: expect.stringContaining("its storage was set back") },
});

describe.each(storages)("a workspace on %s is set back", (_, opening) => {
  let storage: SetBackStorage;
  beforeAll(async () => {
    storage = await opening();
  });

  for (const count of [1, 20])
    test(`readers that look when ${count * 2} more entries were made end with VERSION_GONE`, async () => {
      const [reader, writer] = [storage.open(), storage.open()];
      const name = `held ${count}`;
      const ws = createWorkspace(writer, name);
      await write(ws, "kept", 5);
      const mark = await storage.mark();
      await write(ws, "lost", 8);
      const version = await ws.version();
      const { held, release } = holding(reader, name, version, 2);
      const reading = readers(createWorkspace(reader, name));
      await held;
      await storage.setBack(mark);
      await write(ws, "new", count);
      const isAbove = (await ws.version()) > version;
      expect(isAbove).toBe(count > 8);
      release();
      const last = `new ${count - 1}`;
      await reading.until(last, last);
      expect(await reading.stop()).toEqual([gone, gone]);
      expect(reading.messages).toEqual([...kept(5), ...lost(8)]);
      expect(reading.watched).toEqual([...kept(5), ...lost(8)]);
    });

  test("readers that look all the time end so too", async () => {
    const ws = createWorkspace(storage.open(), "live");
    await write(ws, "kept", 2);
    const mark = await storage.mark();
    await write(ws, "lost", 3);
    const reading = readers(createWorkspace(storage.open(), "live"));
    await reading.until("lost 2", "lost 2");
    await storage.setBack(mark);
    await write(ws, "new", 20);
    await reading.until("new 19", "new 19");
    expect(await reading.stop()).toEqual([gone, gone]);
  });

  test("nothing else ends them: quiet commits, expiry, deletions, trims, forks, and a backup that lacks nothing", async () => {
    const saver = storage.open();
    const ws = createWorkspace(saver, "busy");
    const other = createWorkspace(storage.open(), "busy");
    const reading = readers(createWorkspace(storage.open(), "busy"));
    const versions: number[] = [];
    for (let n = 0; n < 24; n += 1) {
      await Promise.all([
        write(ws, `a${n}`, 3),
        write(other, `b${n}`, 3),
        ws.put(["short"], `${n}`, {}, { ttl: "1ms" }),
        ws.delete(["a"], `a${n - 1} 0`),
        ws.lock(`${n % 2}`, {}, async () => undefined),
      ]);
      await ws.put(["a"], `last ${n}`, {});
      await ws.topic("t").publish({ n });
      await reading.until(`last ${n}`, n);
      versions.push(await ws.version());
      // Sooner than Workspace.trim does.
      if (n > 1) await storageOf(saver).trim("busy", versions[n - 2]!);
      if (n % 8 === 3) {
        await ws.fork(`beside ${n}`);
        await createWorkspace(storage.open(), `beside ${n}`).put(["beside"], `${n}`, {});
        await ws.merge(`beside ${n}`);
      }
      if (n % 8 === 7) await storage.setBack(await storage.mark());
    }
    expect(await reading.stop()).toEqual([undefined, undefined]);
    expect(reading.messages.filter((n) => typeof n === "number")).toEqual([...versions.keys()]);
  });
});
