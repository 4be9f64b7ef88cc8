import type { PathLike, Stats } from "node:fs";
import fs, { mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inFrontOf } from "../../../../test/inFrontOf.ts";
import { FileLocks } from "../src/fileLock.ts";
import { FolderStore } from "../src/internal.ts";
import type { FoundObject } from "../src/objectStore.ts";

// Locks between the processes of one machine, and what they guard: nobody replaces or deletes an object that another one just replaced.

/** Above what Linux ever gives a process. */
const gone = JSON.stringify({ pid: 2 ** 22 + 1, startedAt: "1" });

/** A process id that is in use here, of a process that is somewhere else. */
const elsewhere = JSON.stringify({ pid: 1, startedAt: "1", machine: "of another container" });

let path: string;
const restoring: (() => void)[] = [];
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "stratigraph-locks-"));
});
afterEach(async () => {
  // The last one first: each gives back what it found.
  for (const restore of restoring.splice(0).toReversed()) restore();
  await rm(path, { recursive: true });
});

/** Calls `work` once, right before a file is next linked or renamed to this name. */
function before(call: "link" | "rename", name: string, work: () => Promise<unknown>): void {
  let isDone = false;
  restoring.push(
    inFrontOf(fs, call, (real) => async (from, to) => {
      if (to === name && !isDone) {
        isDone = true;
        await work();
      }
      await real(from, to);
    }),
  );
}

test("who takes a dead holder's lock away looks again: the next holder may have it already", async () => {
  const file = join(path, "lock");
  await writeFile(file, gone);
  const [one, next] = [new FileLocks(join(path, "one")), new FileLocks(join(path, "next"))];
  const done: string[] = [];
  let letGo: () => void = () => undefined;
  const isHeld = new Promise<void>((resolve) => (letGo = resolve));
  let others: Promise<void> | undefined;
  before("link", `${file}.breaking`, async () => {
    // One saw that the holder is dead. Now the next one takes the lock over, and keeps it until one has met it.
    await new Promise<void>((resolve) => {
      others = next.run(file, async () => {
        done.push("next begins");
        resolve();
        await isHeld;
        done.push("next ends");
      });
    });
    restoring.push(
      inFrontOf(fs, "link", (real) => async (from, to) => {
        await real(from, to).catch((error: unknown) => {
          if (to === file) letGo();
          throw error;
        });
      }),
    );
  });
  await one.run(file, async () => done.push("one"));
  letGo();
  await others;
  expect(done).toEqual(["next begins", "next ends", "one"]);
  expect(await readdir(path)).toEqual(["next", "one"]);
  await Promise.all([one.end(), next.end()]);
});

test("a lock is taken over whose holder is gone, or was another one with its id", async () => {
  const locks = new FileLocks(join(path, "work"));
  const reused = JSON.stringify({ pid: process.pid, startedAt: "1" });
  for (const [n, holder] of [gone, reused].entries()) {
    await writeFile(join(path, `lock ${n}`), holder);
    expect(await locks.run(join(path, `lock ${n}`), async () => "done")).toBe("done");
  }
  await locks.end();
});

test("a process that died while it took a dead holder's lock away holds up nobody", async () => {
  const file = join(path, "lock");
  for (const name of [file, `${file}.breaking`]) await writeFile(name, gone);
  const locks = new FileLocks(join(path, "work"));
  expect(await locks.run(file, async () => "done")).toBe("done");
  await locks.end();
  expect(await readdir(path)).toEqual(["work"]);
});

test("of two that replace an object, the second compares it when the first is through", async () => {
  const store = new FolderStore(path);
  const ifMatch = (await store.put("t/head", Buffer.from("0")))!;
  const other = new FolderStore(path);
  let second: Promise<string | undefined> | undefined;
  before("rename", join(path, "t/head"), async () => {
    // The first has compared, and is about to replace.
    const meetsLock = new Promise<void>((resolve) =>
      before("link", join(path, "t/head.lock"), async () => resolve()),
    );
    second = other.put("t/head", Buffer.from("2"), { ifMatch });
    await Promise.race([second, meetsLock]);
  });
  expect(await store.put("t/head", Buffer.from("1"), { ifMatch })).toBeDefined();
  expect(await second).toBeUndefined();
  expect(await readFile(join(path, "t/head"), "utf8")).toBe("1");
  await Promise.all([store.end(), other.end()]);
});

/** Time passes: a minute by the clock that goes on while a machine sleeps. */
function minutePasses(): void {
  const now = Date.now;
  restoring.push(() => (Date.now = now));
  Date.now = () => now() + 61_000;
}

test.each(["put", "deleteIf"] as const)(
  "%s of a process that was stopped while its lock was taken over changes nothing when it wakes up",
  async (method) => {
    const [store, other] = [new FolderStore(path), new FolderStore(path)];
    const ifMatch = (await store.put("t/head", Buffer.from("0")))!;
    const lock = join(path, "t/head.lock");
    let isHeld = false;
    restoring.push(
      inFrontOf(fs, "link", (real) => async (from, to) => {
        await real(from, to);
        if (to !== lock || isHeld) return;
        isHeld = true;
        minutePasses();
      }),
    );
    let isTaken = false;
    restoring.push(
      inFrontOf(fs, "stat", (real) => {
        const looked = async (name: PathLike): Promise<Stats> => {
          if (name === lock && !isTaken) {
            isTaken = true;
            await rm(lock);
            await other.put("t/head", Buffer.from("2"), { ifMatch });
          }
          return await real(name);
        };
        return looked as typeof real;
      }),
    );
    const late =
      method === "put"
        ? store.put("t/head", Buffer.from("1"), { ifMatch })
        : store.deleteIf("t/head", ifMatch);
    await expect(late).rejects.toMatchObject({ code: "LOCKED", data: { file: lock } });
    expect(await readFile(join(path, "t/head"), "utf8")).toBe("2");
    await Promise.all([store.end(), other.end()]);
  },
);

test("a holder that wakes up in time shows that it is alive before it writes", async () => {
  const store = new FolderStore(path);
  const ifMatch = (await store.put("t/head", Buffer.from("0")))!;
  const lock = join(path, "t/head.lock");
  let [takenMs, seenMs] = [0, 0];
  restoring.push(
    inFrontOf(fs, "link", (real) => async (from, to) => {
      await real(from, to);
      if (to !== lock) return;
      takenMs = (await stat(lock)).ctimeMs;
      minutePasses();
    }),
  );
  before("rename", join(path, "t/head"), async () => (seenMs = (await stat(lock)).ctimeMs));
  expect(await store.put("t/head", Buffer.from("1"), { ifMatch })).toBeDefined();
  expect(seenMs).toBeGreaterThan(takenMs);
  await store.end();
});

test("a holder that wakes up leaves the lock of the next one", async () => {
  const [file, one, next] = [
    join(path, "lock"),
    new FileLocks(join(path, "one")),
    new FileLocks(join(path, "two")),
  ];
  let letGo: () => void = () => undefined;
  let others: Promise<void> | undefined;
  const late = one.run(file, async () => {
    await rm(file);
    await new Promise<void>((begun) => {
      others = next.run(file, async () => {
        begun();
        await new Promise<void>((resolve) => (letGo = resolve));
      });
    });
    minutePasses();
  });
  await expect(late).rejects.toMatchObject({ code: "LOCKED", data: { file, pid: process.pid } });
  expect(await readFile(file, "utf8")).toContain(String(process.pid));
  letGo();
  await others;
  await Promise.all([one.end(), next.end()]);
});

test("an object that is replaced before its deletion has the lock stays", async () => {
  const store = new FolderStore(path);
  const etag = (await store.put("t/head", Buffer.from("0")))!;
  before("link", join(path, "t/head.lock"), () => store.put("t/head", Buffer.from("1")));
  expect(await store.deleteIf("t/head", etag)).toBe(false);
  expect(await readFile(join(path, "t/head"), "utf8")).toBe("1");
  await store.end();
});

test("a folder that is deleted when an object is about to get its place in it is made again", async () => {
  const store = new FolderStore(path);
  before("link", join(path, "t/head"), () => rm(join(path, "t"), { recursive: true }));
  expect(await store.put("t/head", Buffer.from("0"), { ifNoneMatch: "*" })).toBeDefined();
  expect(await readFile(join(path, "t/head"), "utf8")).toBe("0");
  await store.end();
});

test("setup() takes away what the dead left, and nothing that a living process works with", async () => {
  const store = new FolderStore(path);
  const ifMatch = (await store.put("t/head", Buffer.from("0")))!;
  await store.put("t/head", Buffer.from("1"), { ifMatch });
  const work = join(path, ".work");
  const [living] = await readdir(work);
  for (const name of ["old", "young"]) await writeFile(join(work, name), "");
  await writeFile(join(work, `holder-${2 ** 22 + 1}-x`), gone);
  for (const name of ["holder-1-young", "holder-1-old"]) await writeFile(join(work, name), elsewhere);
  for (const [name, hours] of [
    ["old", 2],
    ["holder-1-old", 2],
    [living!, 48],
  ] as const) {
    const at = new Date(Date.now() - hours * 3_600_000);
    await utimes(join(work, name), at, at);
  }
  await new FolderStore(path).setup();
  expect((await readdir(work)).sort()).toEqual([living, "young", "holder-1-young"].sort());
  // A sweep in another container took this process's file away, which it can't tell from one that was left behind.
  await rm(join(work, living!));
  expect(
    await store.put("t/head", Buffer.from("2"), {
      ifMatch: ((await store.get("t/head")) as FoundObject).etag,
    }),
  ).toBeDefined();
  await store.end();
});

test("a lock of a process in another container is waited for, and taken over a minute after that one was last seen", async () => {
  const [file, locks] = [join(path, "lock"), new FileLocks(join(path, "mine"))];
  await writeFile(file, elsewhere);
  let looks = 0;
  restoring.push(
    inFrontOf(fs, "stat", (real) => {
      const aged = async (name: PathLike): Promise<Stats> => {
        const found = await real(name);
        if (name !== file) return found;
        looks += 1;
        // The clock of the file system: two looks within the minute, then one after it.
        return Object.assign(found, { ctimeMs: found.ctimeMs - (looks > 2 ? 60_100 : 59_000) });
      };
      return aged as typeof real;
    }),
  );
  expect(await locks.run(file, async () => looks)).toBe(4);
});
