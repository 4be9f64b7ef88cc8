// long file: what users expect of a workspace, one short story after another
import { randomUUID } from "node:crypto";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import type { WorkspaceKeeper } from "@stratigraph/core/tier";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import {
  createWorkspace,
  type Workspace,
  type WorkspaceEvent,
  type WorkspaceMark,
  type WorkspaceOptions,
} from "../src/index.ts";

/** Two checkpointers on one storage, as two processes have them. */
export interface SaverPair {
  readonly saver: TierSaver;
  readonly other: TierSaver;
}

/** What users expect of a workspace, on any storage. @param opening opens a storage, for all tests */
export function testWorkspace(name: string, opening: () => Promise<SaverPair>): void {
  let opened: Promise<SaverPair> | undefined;
  const open = async (options?: WorkspaceOptions): Promise<{ ws: Workspace; other: Workspace }> => {
    const pair = await (opened ??= opening());
    const workspace = `w'"%_🦊${randomUUID()}`;
    return {
      ws: createWorkspace(pair.saver, workspace, { agent: "anna", ...options }),
      other: createWorkspace(pair.other, workspace, { agent: "ben", ...options }),
    };
  };
  describe(`workspace on ${name}`, () => {
    test("an item has a version, an author and a reason, and other workspaces don't see it", async () => {
      const { ws, other } = await open();
      const written = await ws.put(["plan"], "days", { n: 1 }, { reason: "the user asked \ud83c" });
      expect(written.ok).toBe(true);
      const item = await other.get(["plan"], "days");
      expect(item).toMatchObject({
        value: { n: 1 },
        version: written.ok ? written.version : 0,
        author: { agent: "anna" },
        reason: "the user asked \ud83c",
      });
      expect(await ws.version()).toBe(item!.version);
      const { ws: stranger } = await open();
      expect(await stranger.get(["plan"], "days")).toBeNull();
      expect(await stranger.search([])).toEqual([]);
      const { saver } = await opened!;
      expect((await saver.store().search([], { limit: 1000 })).filter(({ key }) => key === "days")).toEqual(
        [],
      );
      expect(await saver.store().listNamespaces()).toEqual([]);
    });

    test("a put with an old version returns the item that is there, and changes nothing", async () => {
      const { ws, other } = await open();
      const first = await ws.put(["a"], "k", { n: 1 }, { ifVersion: 0 });
      expect(first.ok).toBe(true);
      expect(await other.put(["a"], "k", { n: 2 }, { ifVersion: 0 })).toMatchObject({
        ok: false,
        current: { value: { n: 1 }, author: { agent: "anna" } },
      });
      const { version } = (await ws.get(["a"], "k"))!;
      expect((await other.put(["a"], "k", { n: 3 }, { ifVersion: version })).ok).toBe(true);
      expect(await ws.delete(["a"], "k", { ifVersion: version })).toMatchObject({ ok: false });
      expect(await ws.put(["a"], "gone", {}, { ifVersion: 7 })).toEqual({ ok: false, current: null });
      expect((await ws.get(["a"], "k"))!.value).toEqual({ n: 3 });
      expect((await ws.delete(["a"], "k")).ok).toBe(true);
      expect(await other.get(["a"], "k")).toBeNull();
    });

    test("updates of many writers lose none", async () => {
      const { ws, other } = await open();
      const add = async (at: Workspace, n: number): Promise<unknown> =>
        await at.update(["counters"], "c", (value) => ({ sum: Number(value?.["sum"] ?? 0) + n }));
      await Promise.all(Array.from({ length: 40 }, (_, n) => add(n % 2 === 0 ? ws : other, 1)));
      expect((await ws.get(["counters"], "c"))!.value).toEqual({ sum: 40 });
      const told = await ws.update(["counters"], "told", () => ({ at: new Date(5) }), { reason: "once" });
      expect(told).toEqual(await other.get(["counters"], "told"));
      const again = await ws.update(["counters"], "told", () => ({ n: 1 }));
      expect(again).toEqual(await other.get(["counters"], "told"));
      expect(await ws.update(["counters"], "c", () => undefined)).toMatchObject({ value: { sum: 40 } });
      expect(await ws.update(["counters"], "c", () => null)).toBeNull();
      expect(await other.get(["counters"], "c")).toBeNull();
      let calls = 0;
      await ws.update(["counters"], "overtaken", async (value) => {
        calls += 1;
        if (calls === 1) await other.put(["counters"], "overtaken", { sum: 10 });
        return { sum: Number(value?.["sum"] ?? 0) + 1 };
      });
      expect((await other.get(["counters"], "overtaken"))!.value).toEqual({ sum: 11 });
      // An update of the item within its own update doesn't wait for itself.
      await ws.update(["counters"], "nested", async () => {
        await ws.update(["counters"], "nested", (value) => (value === undefined ? { sum: 1 } : undefined));
        return { sum: 2 };
      });
      expect((await ws.get(["counters"], "nested"))!.value).toEqual({ sum: 2 });
      const failing = ws.update(["counters"], "c", () => {
        throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
    });

    test("a transaction is made whole or not at all, and says which step failed", async () => {
      const { ws, other } = await open();
      await ws.put(["a"], "x", { n: 1 });
      const { version } = (await ws.get(["a"], "x"))!;
      const done = await other.transact(
        [
          { check: { namespace: ["a"], key: "x", version } },
          { put: { namespace: ["a"], key: "y", value: { n: 2 }, ifVersion: 0 } },
          { publish: { topic: "news", body: { changed: "y" } } },
          { delete: { namespace: ["a"], key: "x" } },
        ],
        { reason: "all" },
      );
      expect(done).toMatchObject({ ok: true });
      if (done.ok) expect(done.versions).toEqual([0, done.versions[1], done.versions[2], done.versions[3]]);
      expect((await ws.get(["a"], "y"))!.reason).toBe("all");
      expect(await ws.get(["a"], "x")).toBeNull();
      const failed = await ws.transact([
        { put: { namespace: ["a"], key: "z", value: { n: 3 } } },
        { put: { namespace: ["a"], key: "y", value: { n: 4 }, ifVersion: version } },
        { check: { namespace: ["a"], key: "x", version } },
        { send: { to: "ben", body: {} } },
      ]);
      expect(failed).toMatchObject({
        ok: false,
        conflicts: [
          { step: 1, current: { value: { n: 2 } } },
          { step: 2, current: null },
        ],
      });
      expect(await ws.get(["a"], "z")).toBeNull();
      expect(await all(other.inbox().replay())).toEqual([]);
    });

    test("history, log and past tell who changed what, and when", async () => {
      const { ws, other } = await open();
      await ws.put(["a", "b"], "k", { n: 1 });
      const before = await ws.version();
      await other.put(["a", "b"], "k", { n: 2 }, { reason: "better" });
      await ws.put(["z"], "l", { other: true });
      const middle = await ws.version();
      await ws.delete(["a", "b"], "k");
      await ws.send("ben", { hi: true });
      const kinds = (events: WorkspaceEvent[]): string[] =>
        events.map(({ kind, author }) => `${kind} ${author.agent}`);
      expect(kinds(await all(other.history(["a", "b"], "k")))).toEqual([
        "delete anna",
        "put ben",
        "put anna",
      ]);
      const log = await all(ws.log());
      expect(kinds(log)).toEqual(["put anna", "put ben", "put anna", "delete anna", "message anna"]);
      expect(log.at(-1)).toMatchObject({ to: "ben", body: { hi: true } });
      expect(await all(ws.log({ since: middle }))).toHaveLength(2);
      expect(await all(ws.log({ prefix: ["a"] }))).toHaveLength(3);
      const past = await other.at(before);
      expect(await past.get(["a", "b"], "k")).toMatchObject({ value: { n: 1 }, author: { agent: "anna" } });
      expect(await past.get(["z"], "l")).toBeNull();
      const between = await ws.at(middle);
      expect((await between.search([])).map(({ key }) => key)).toEqual(["l", "k"]);
      expect((await between.search(["a"], { filter: { n: 2 } })).map(({ reason }) => reason)).toEqual([
        "better",
      ]);
      expect(await between.listNamespaces()).toEqual([["a", "b"], ["z"]]);
      expect((await ws.at(log[2]!.at)).version).toBeGreaterThanOrEqual(middle);
      expect((await ws.at(new Date(0))).version).toBe(0);
      await expect(ws.at(Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({ code: "VERSION_GONE" });
    });

    test("a watcher gets all changes in order, also those of other processes, from any version", async () => {
      const { ws, other } = await open();
      await ws.put(["a"], "k0", {});
      const since = await ws.version();
      const writing = (async () => {
        for (let n = 1; n <= 300; n += 1) {
          const at = n % 2 === 0 ? ws : other;
          await (n % 3 === 0
            ? Promise.all([at.put(["a"], `k${n}`, { n }), at.put(["b"], `k${n}`, {})])
            : at.put(["a"], `k${n}`, { n }));
        }
      })();
      const seen: string[] = [];
      let last = since;
      for await (const event of other.watch({ since, prefix: ["a"] })) {
        expect(event.version).toBeGreaterThan(last);
        last = event.version;
        if (event.kind === "put") seen.push(event.key);
        if (seen.length === 300) break;
      }
      await writing;
      expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => `k${n + 1}`));
      const again: string[] = [];
      for await (const event of ws.watch({ since }))
        if ("key" in event && event.namespace[0] === "a" && again.push(event.key) === 300) break;
      expect(again).toEqual(seen);
      const ended = new AbortController();
      const nothing = all(ws.watch({ signal: ended.signal }));
      setImmediate(() => ended.abort());
      expect(await nothing).toEqual([]);
    });

    test("messages come in order, and again until they are acknowledged", async () => {
      const { ws, other } = await open();
      const tasks = ws.topic("tasks");
      for (let n = 0; n < 5; n += 1) await tasks.publish({ n });
      const take = async (count: number, acks: number): Promise<unknown[]> => {
        const taken: unknown[] = [];
        for await (const message of other.topic("tasks").subscribe("worker")) {
          taken.push(message.body["n"]);
          if (taken.length <= acks) await message.ack();
          if (taken.length === count) return taken;
        }
        return taken;
      };
      expect(await take(3, 2)).toEqual([0, 1, 2]);
      expect(await take(3, 3)).toEqual([2, 3, 4]);
      const pending = take(1, 1);
      await tasks.publish({ n: 5 });
      expect(await pending).toEqual([5]);
      const others: unknown[] = [];
      for await (const { body } of ws.topic("tasks").subscribe("late", { from: "first" }))
        if (others.push(body["n"]) === 6) break;
      expect(others).toEqual([0, 1, 2, 3, 4, 5]);
      expect((await all(other.topic("tasks").replay())).map(({ body }) => body["n"])).toEqual(others);
      expect(await all(ws.topic("other").replay())).toEqual([]);
      expect(await ws.search([])).toEqual([]);
    });

    test("a lock has one holder, tells who it is, and refuses a late one's writes", async () => {
      const { ws, other } = await open();
      let inside = 0;
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          const keys = n % 2 === 0 ? ["a", "b"] : ["b", "a", "b"];
          await (n % 3 === 0 ? ws : other).lock(keys, {}, async (lock) => {
            expect((inside += 1)).toBe(1);
            order.push(lock.token);
            expect((await ws.locks()).map(({ key }) => key).toSorted()).toEqual(["a", "b"]);
            expect(await ws.put(["x"], "k", { n }, { lock })).toMatchObject({ ok: true });
            inside -= 1;
          });
        }),
      );
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      expect(await ws.locks()).toEqual([]);
      const late = await ws.lock("a", {}, (lock) => lock);
      await expect(ws.put(["x"], "k", { late: true }, { lock: late })).rejects.toMatchObject({
        code: "LOCK_LOST",
      });
      expect((await ws.get(["x"], "k"))!.value).not.toHaveProperty("late");
      await ws.lock("a", {}, async () => {
        const waiting = other.lock("a", { waitFor: "1ms" }, () => {});
        await expect(waiting).rejects.toMatchObject({
          code: "LOCKED",
          data: { held: [{ author: { agent: "anna" } }] },
        });
      });
      await expect(ws.lock("a", {}, () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    });

    test("a role sees and changes its part only, however it asks", async () => {
      const { ws, other } = await open();
      await ws.put(["facts", "x"], "k", { secret: 1 });
      await ws.put(["plans"], "k", { secret: 2 });
      const critic = other.as("critic", {
        read: [["facts"], ["reviews"]],
        write: [["reviews"]],
        publish: ["out"],
      });
      expect(await critic.get(["plans"], "k")).toBeNull();
      expect((await critic.search([])).map(({ value }) => value)).toEqual([{ secret: 1 }]);
      expect(await critic.listNamespaces()).toEqual([["facts", "x"]]);
      expect(await critic.store().get(["plans"], "k")).toBeNull();
      for (const refused of [
        () => critic.put(["facts", "x"], "k", {}),
        () => critic.store().put(["plans"], "k", {}),
        () => critic.delete(["plans"], "k"),
        () => critic.update(["plans"], "k", () => ({})),
        () => critic.transact([{ check: { namespace: ["plans"], key: "k", version: 1 } }]),
        () => critic.topic("tasks").publish({}),
        () => all(critic.topic("tasks").subscribe("critic")),
        () => all(critic.inbox("anna").replay()),
        () => all(critic.history(["plans"], "k")),
        () => critic.locks(),
        () => critic.trim(1),
      ])
        await expect(refused()).rejects.toMatchObject({ code: "ACCESS_DENIED", data: { role: "critic" } });
      await critic.put(["reviews", "x"], "k", { good: true });
      await critic.topic("out").publish({ done: true });
      await ws.send("critic", { hello: true });
      expect((await ws.get(["reviews", "x"], "k"))!.author).toMatchObject({ agent: "critic" });
      const seen = (await all(critic.log())).map((event) =>
        "key" in event ? event.namespace[0] : "message",
      );
      expect(seen).toEqual(["facts", "reviews", "message"]);
      const past = await critic.at(await ws.version());
      expect(await past.get(["plans"], "k")).toBeNull();
      expect((await past.search([])).length).toBe(2);
      // Who may read everything has its own messages, not those of others.
      const reader = ws.as("reader", { read: [[]], subscribe: ["in"] });
      for (const topic of ["in", "out"]) await ws.topic(topic).publish({ topic });
      await ws.send("anna", { secret: 3 });
      await ws.send("reader", { hello: true });
      const events = (await all(reader.log())).map((event) =>
        "key" in event ? event.namespace[0] : Object.keys(event.body)[0],
      );
      expect(events).toEqual(["facts", "plans", "reviews", "topic", "hello"]);
      expect(() => ws.as("reader", { read: [["", "inboxes"]] })).toThrow();
      const lesser = critic.as("critic", { read: [[]], write: [["facts"]] });
      expect(() => critic.as("anna")).toThrow(
        expect.objectContaining({ data: expect.objectContaining({ field: "role" }) }),
      );
      expect(() => ws.as(undefined as never)).toThrow(expect.objectContaining({ code: "INVALID_ADDRESS" }));
      expect(await lesser.get(["plans"], "k")).toBeNull();
      await expect(lesser.put(["facts"], "k", {})).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    });

    test("labels that LangGraph's store refuses in its own calls are read as they are written", async () => {
      const { ws } = await open();
      const [mail, time] = [
        ["users", "anna@mail.org"],
        ["a:b", "12:30"],
      ];
      await ws.put(mail!, "k", { n: 1 });
      await ws.update(time!, "k", () => ({ n: 2 }));
      expect((await ws.get(mail!, "k"))!.value).toEqual({ n: 1 });
      expect(await ws.update(mail!, "k", (value) => ({ n: Number(value!["n"]) + 2 }))).toMatchObject({
        value: { n: 3 },
      });
      expect((await ws.search(time!)).map(({ value }) => value)).toEqual([{ n: 2 }]);
      expect(await ws.listNamespaces({ prefix: ["users"] })).toEqual([mail]);
      expect(await ws.listNamespaces({ suffix: ["12:30"], maxDepth: 1 })).toEqual([["a:b"]]);
      const past = await ws.at(await ws.version());
      expect((await past.get(mail!, "k"))!.value).toEqual({ n: 3 });
      expect(await past.search(time!)).toHaveLength(1);
      expect((await past.listNamespaces()).toSorted()).toEqual([time, mail]);
      expect(await ws.as("reader", { read: [mail!] }).get(mail!, "k")).not.toBeNull();
      await ws.board("v1.2").add("task", { what: "work" });
      expect(await ws.board("v1.2").work(() => ({}))).toMatchObject({ key: "task", status: "done" });
    });

    test("values that are read are frozen in development, so a change in place is named", async () => {
      const { ws } = await open({ freeze: true });
      await ws.put(["a"], "k", { list: [{ n: 1 }] });
      const { value } = (await ws.get(["a"], "k"))!;
      expect(() => ((value["list"] as { n: number }[])[0]!.n = 2)).toThrow("n");
      const { ws: free } = await open({ freeze: false });
      await free.put(["a"], "k", { n: 1 });
      const item = (await free.get(["a"], "k"))!;
      item.value["n"] = 2;
      expect((await free.get(["a"], "k"))!.value).toEqual({ n: 1 });
    });

    test("a trimmed log keeps items as they are, and says that what was before is gone", async () => {
      const { ws } = await open();
      for (let n = 0; n < 5; n += 1) await ws.put(["a"], "k", { n });
      const past = await ws.at(await ws.version());
      await ws.put(["a"], "old", {});
      await ws.topic("t").publish({});
      const version = await ws.version();
      expect(await ws.trim(version + 1)).toBe(0);
      expect(await ws.trim(version + 1, { keep: "0ms" })).toBe(5);
      expect((await all(ws.log())).map(({ kind }) => kind)).toEqual(["put", "put"]);
      await expect(all(ws.log({ since: 0 }))).rejects.toMatchObject({ code: "VERSION_GONE" });
      await expect(ws.at(version - 1)).rejects.toMatchObject({ code: "VERSION_GONE" });
      expect((await ws.get(["a"], "k"))!.value).toEqual({ n: 4 });
      expect((await (await ws.at(version)).search([])).length).toBe(2);
      // The newest entry was a message: that time is known nevertheless.
      const now = new Date((await all(ws.log())).at(-1)!.at.getTime() + 60_000);
      expect(await ws.at(now)).toMatchObject({ version });
      for (const read of [() => past.get(["a"], "k"), () => past.search([])])
        await expect(read()).rejects.toMatchObject({ code: "VERSION_GONE" });
      await expect(ws.at(new Date(0))).rejects.toMatchObject({ code: "VERSION_GONE" });
      await ws.put(["a"], "k", { n: 5 });
      expect(await all(ws.log({ since: version }))).toHaveLength(1);
    });

    test("a commit whose answer is lost is made once, though the log is trimmed before it is sent again", async () => {
      const { ws } = await open();
      const { saver, other } = await opened!;
      const { workspaces } = saver.tier as unknown as WorkspaceKeeper;
      // As in a process of its own, whose commits don't wait for those of this one.
      const elsewhere = createWorkspace(
        Object.create(other, {
          tier: { value: Object.create(other.tier) as unknown },
          itemCoder: { value: other.itemCoder },
        }) as TierSaver,
        ws.name,
      );
      const commit = workspaces.commit.bind(workspaces);
      workspaces.commit = async (...args) => {
        workspaces.commit = commit;
        await commit(...args);
        // Another one is quicker than the repeated call, and trims all that it can.
        await elsewhere.put(["a"], "k", { by: "other" });
        await elsewhere.trim((await elsewhere.version()) + 1);
        throw new StratigraphError("UNAVAILABLE", "The answer was lost.");
      };
      await ws.put(["a"], "k", { by: "ws" });
      expect((await ws.get(["a"], "k"))!.value).toEqual({ by: "other" });
      expect(await all(ws.log())).toHaveLength(2);
    });

    test("a board gives each task to one agent, when the results that it needs are there", async () => {
      const { ws, other } = await open();
      const [mine, theirs] = [ws.board(), other.board()];
      expect(await mine.add("hotels", { what: "find hotels" })).toBe(true);
      expect(await theirs.add("hotels", { what: "something else" })).toBe(false);
      await mine.add("sights", { what: "find sights", data: { most: 3 } });
      await mine.add("report", { what: "write", after: ["hotels", "sights"] });
      const statuses = async (): Promise<string[]> =>
        (await theirs.tasks()).map(({ key, status }) => `${key} ${status}`).toSorted();
      expect(await statuses()).toEqual(["hotels ready", "report waiting", "sights ready"]);
      const [begun, begin] = event();
      const [gone, go] = event();
      const working = mine.work(async ({ key }) => {
        begin();
        await gone;
        return { found: key };
      });
      await begun;
      expect((await theirs.tasks()).find(({ key }) => key === "hotels")).toMatchObject({
        status: "taken",
        by: { agent: "anna" },
      });
      const failing = theirs.work(({ data }) => {
        throw new Error(`no ${String(data!["most"])}`);
      });
      await expect(failing).rejects.toThrow("no 3");
      expect(await theirs.work(() => ({}))).toBeUndefined();
      go();
      expect(await working).toMatchObject({ key: "hotels", status: "done", result: { found: "hotels" } });
      expect(await statuses()).toEqual(["hotels done", "report waiting", "sights failed"]);
      expect(await mine.retry("sights")).toBe(true);
      expect(await mine.retry("hotels")).toBe(false);
      const [one, two] = await Promise.all([mine.work(() => ({ n: 1 })), theirs.work(() => ({ n: 2 }))]);
      expect([one, two].filter((task) => task !== undefined)).toHaveLength(1);
      const report = await theirs.work(({ results }) => ({
        keys: Object.keys(results),
        hotels: results["hotels"],
      }));
      expect(report).toMatchObject({
        by: { agent: "ben" },
        result: { keys: ["hotels", "sights"], hotels: { found: "hotels" } },
      });
      // Another one does it between the look and the lock.
      await mine.add("last", { what: "end" });
      const lock = ws.lock.bind(ws);
      ws.lock = async (...args) => {
        await theirs.work(() => ({ by: "ben" }));
        return await lock(...args);
      };
      expect(await mine.work(() => ({ by: "anna" }))).toBeUndefined();
      expect((await theirs.tasks()).find(({ key }) => key === "last")!.result).toEqual({ by: "ben" });
      await expect(mine.add("x", { what: "y", after: ["z"] })).rejects.toMatchObject({
        data: { field: "after" },
      });
    });

    test("a fork goes on from any version, and what both sides did is united when it is merged", async () => {
      const { ws, other } = await open();
      await ws.put(["plan"], "days", { list: ["Rome"], hotel: "A" });
      await ws.put(["plan"], "gone", {});
      const then = await ws.mark();
      await ws.put(["plan"], "days", { list: ["Rome", "Pisa"], hotel: "A" });
      const name = `${ws.name}-if`;
      const fork = await ws.fork(name, { at: then });
      expect((await fork.get(["plan"], "days"))!.value).toEqual({ list: ["Rome"], hotel: "A" });
      expect((await fork.get(["plan"], "days"))!.author).toMatchObject({ agent: "anna" });
      await fork.put(["plan"], "days", { list: ["Rome", "Siena"], hotel: "B" });
      await fork.put(["plan"], "new", { n: 1 });
      await fork.delete(["plan"], "gone");
      await other.put(["plan"], "mine", { n: 2 });
      expect((await ws.get(["plan"], "days"))!.value["hotel"]).toBe("A");
      expect(await ws.merge(name)).toEqual({ ok: true, changed: 3 });
      const values = async (at: Workspace): Promise<unknown> =>
        Object.fromEntries((await at.search([])).map(({ key, value }) => [key, value]));
      expect(await values(ws)).toEqual({
        days: { list: ["Rome", "Siena", "Pisa"], hotel: "B" },
        new: { n: 1 },
        mine: { n: 2 },
      });
      expect(await ws.merge(name)).toEqual({ ok: true, changed: 0 });
      // The other way round, and back: nothing is added twice.
      expect(await fork.merge(ws.name)).toEqual({ ok: true, changed: 2 });
      expect(await values(fork)).toEqual(await values(ws));
      await fork.put(["plan"], "days", { list: ["Rome", "Siena", "Pisa", "Bari"], hotel: "B" });
      await ws.put(["plan"], "days", { list: ["Rome", "Siena", "Pisa", "Lucca"], hotel: "B" });
      expect(await ws.merge(name, { reason: "back" })).toEqual({ ok: true, changed: 1 });
      const days = (await ws.get(["plan"], "days"))!;
      expect(days.value["list"]).toEqual(["Rome", "Siena", "Pisa", "Bari", "Lucca"]);
      expect(days).toMatchObject({ reason: "back", author: { agent: "anna" } });
      await expect(ws.fork(name)).rejects.toMatchObject({ data: { field: "name" } });
      const { ws: stranger } = await open();
      await expect(ws.merge(stranger.name)).rejects.toMatchObject({ data: { field: "from" } });
      await expect(stranger.at(then)).rejects.toMatchObject({ data: { field: "at" } });
    });

    test("merged again and again, in both directions: what one side undid or deleted stays so, what both added is there once", async () => {
      const { ws } = await open();
      await ws.put(["x"], "list", { all: ["0"] });
      await ws.put(["x"], "on", { on: false });
      const fork = await ws.fork(`${ws.name}-f`);
      await fork.put(["x"], "new", { v: 1 });
      await fork.put(["x"], "on", { on: true });
      await ws.merge(fork.name);
      await ws.delete(["x"], "new");
      await ws.put(["x"], "on", { on: false });
      expect(await fork.merge(ws.name)).toEqual({ ok: true, changed: 2 });
      expect(await fork.get(["x"], "new")).toBeNull();
      expect((await fork.get(["x"], "on"))!.value).toEqual({ on: false });
      const add = async (at: Workspace, what: string): Promise<unknown> =>
        await at.update(["x"], "list", (value) => ({ all: [...(value!["all"] as string[]), what] }));
      for (const round of ["1", "2", "3"]) {
        await Promise.all([add(ws, `a${round}`), add(fork, `b${round}`)]);
        await Promise.all([ws.merge(fork.name), ws.merge(fork.name), ws.merge(fork.name)]);
        await Promise.all([add(ws, `A${round}`), add(fork, `B${round}`)]);
        expect(await fork.merge(ws.name)).toEqual({ ok: true, changed: 1 });
      }
      await ws.merge(fork.name);
      const [mine, theirs] = [await ws.get(["x"], "list"), await fork.get(["x"], "list")];
      expect(mine!.value).toEqual(theirs!.value);
      const all = mine!.value["all"] as string[];
      expect(all.toSorted()).toEqual(
        ["0", ...["1", "2", "3"].flatMap((n) => [`a${n}`, `b${n}`, `A${n}`, `B${n}`])].toSorted(),
      );
      await add(ws, "late");
      await add(fork, "late too");
      await ws.trim((await ws.version()) + 1, { keep: "0ms" });
      await expect(ws.merge(fork.name)).rejects.toMatchObject({ code: "VERSION_GONE" });
    });

    test("of two forks by one name at a time, one is made, and not from both", async () => {
      const { ws, other } = await open();
      const versions: number[] = [];
      for (const n of [1, 2]) {
        await ws.put(["a"], `k${n}`, { n });
        versions.push(await ws.version());
      }
      const name = `${ws.name}-f`;
      const forks = await Promise.allSettled([
        ws.fork(name, { at: versions[0]! }),
        other.fork(name, { at: versions[1]! }),
      ]);
      expect(forks.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      const [made] = forks.flatMap((fork) => (fork.status === "fulfilled" ? [fork.value] : []));
      const items = await made!.search(["a"]);
      expect(items).toHaveLength(forks[0]!.status === "fulfilled" ? 1 : 2);
    });

    test("a fork that was cut short is completed by the same call, though the workspace went on", async () => {
      const { ws } = await open();
      const { saver } = await opened!;
      await ws.transact(
        Array.from({ length: 500 }, (_, n) => ({ put: { namespace: ["a"], key: `k${n}`, value: { n } } })),
      );
      const { workspaces } = saver.tier as unknown as WorkspaceKeeper;
      const commit = workspaces.commit.bind(workspaces);
      let left = 3;
      workspaces.commit = async (...args) => {
        if ((left -= 1) < 0) throw new Error("the disk is full");
        return await commit(...args);
      };
      await expect(ws.fork(`${ws.name}-f`)).rejects.toThrow("the disk is full");
      workspaces.commit = commit;
      await expect(ws.merge(`${ws.name}-f`)).rejects.toMatchObject({ data: { field: "from" } });
      await ws.put(["a"], "k0", { n: "later" });
      const fork = await ws.fork(`${ws.name}-f`);
      expect(await fork.search(["a"], { limit: 1000 })).toHaveLength(500);
      expect((await fork.get(["a"], "k0"))!.value).toEqual({ n: 0 });
    });

    test("what can't be united is a conflict, and then nothing is merged", async () => {
      const { ws } = await open();
      await ws.put(["a"], "x", { n: 1 });
      await ws.put(["a"], "y", { n: 1 });
      const fork = await ws.fork(`${ws.name}-f`);
      await fork.put(["a"], "x", { n: 2 });
      await fork.put(["a"], "z", { n: 2 });
      await fork.delete(["a"], "y");
      await ws.put(["a"], "x", { n: 3 });
      await ws.put(["a"], "y", { n: 3 });
      expect(await ws.merge(fork.name)).toMatchObject({
        ok: false,
        conflicts: [
          { key: "x", base: { n: 1 }, ours: { n: 3 }, theirs: { n: 2 } },
          { key: "y", base: { n: 1 }, ours: { n: 3 }, theirs: null },
        ],
      });
      expect(await ws.get(["a"], "z")).toBeNull();
      const resolve = ({ key, theirs }: { key: string; theirs: object | null }): never =>
        (key === "x" ? { n: 5 } : theirs) as never;
      expect(await ws.merge(fork.name, { resolve })).toEqual({ ok: true, changed: 3 });
      expect((await ws.search([])).map(({ key, value }) => [key, value["n"]]).toSorted()).toEqual([
        ["x", 5],
        ["z", 2],
      ]);
    });

    test("a graph keeps what it saw in its state: time travel reads it, and a fork of the thread goes on from it", async () => {
      const { ws } = await open();
      const { saver } = await opened!;
      const State = Annotation.Root({ seen: Annotation<WorkspaceMark>, read: Annotation<unknown> });
      const graph = new StateGraph(State)
        .addNode("work", async (state) => {
          const mine = createWorkspace(saver, state.seen?.name ?? ws.name);
          const item = await mine.update(["n"], "n", (value) => ({ n: Number(value?.["n"] ?? 0) + 1 }));
          return { seen: await mine.mark(), read: item!.value["n"] };
        })
        .addEdge(START, "work")
        .addEdge("work", END)
        .compile({ checkpointer: saver });
      const config = { configurable: { thread_id: randomUUID() } };
      for (const n of [1, 2, 3]) expect((await graph.invoke({ read: n }, config)).read).toBe(n);
      expect((await ws.get(["n"], "n"))!.author).toMatchObject({
        thread: config.configurable.thread_id,
        node: "work",
      });
      const history = await all(graph.getStateHistory(config));
      const then = history.find(({ values, next }) => values.read === 1 && next.length === 0)!;
      expect((await (await ws.at(then.values.seen)).get(["n"], "n"))!.value).toEqual({ n: 1 });
      const fork = await ws.fork(`${ws.name}-what-if`, { at: then.values.seen });
      const forked = await graph.updateState(then.config, { seen: await fork.mark() });
      expect((await graph.invoke({ read: 0 }, forked)).read).toBe(2);
      expect((await ws.get(["n"], "n"))!.value).toEqual({ n: 3 });
      expect((await fork.get(["n"], "n"))!.value).toEqual({ n: 2 });
    });

    test("wrong arguments are refused by name, and nothing is written", async () => {
      const { ws } = await open();
      const version = await ws.version();
      for (const [call, field] of [
        [() => ws.put([], "k", {}), "namespace"],
        [() => ws.put(["a"], "k", [] as never), "value"],
        [() => ws.put(["a"], "k", {}, { ifVersion: -1 }), "ifVersion"],
        [() => ws.put(["a"], "k", {}, { ttl: "soon" as never }), "ttl"],
        [() => ws.put(["a"], "k", {}, { reason: "" }), "reason"],
        [() => ws.put(["a"], "k", {}, { author: "x" } as never), "author"],
        [() => ws.transact({} as never), "steps"],
        [() => ws.transact([{ put: 1 } as never]), "steps[0].put"],
        [
          () =>
            ws.transact([
              { put: { namespace: ["a"], key: "k", value: {} } },
              { delete: { namespace: ["a"], key: "k" } },
            ]),
          "steps[1]",
        ],
        [() => ws.topic("t").publish("hi" as never), "body"],
        [() => all(ws.topic("t").subscribe("s", { from: "last" as never })), "from"],
        [() => ws.lock([], {}, () => {}), "keys"],
        [() => ws.at(new Date(Number.NaN)), "at"],
        [() => ws.at({ name: ws.name } as never), "at"],
        [() => ws.fork("f", { at: { name: ws.name } as never }), "at"],
        [() => ws.trim(undefined as never), "before"],
        [() => ws.get([""], "k"), "namespace"],
        [() => ws.search(["a", ""]), "namespacePrefix"],
        [() => ws.search([], { mode: "vector" } as never), "mode"],
        [() => ws.listNamespaces({ prefix: [1] as never }), "matchConditions[0].path"],
        [() => ws.lock(5 as never, {}, () => {}), "keys"],
        [() => ws.put(["a"], "k", {}, { lock: { checks: [] } as never }), "lock"],
        [async () => ws.fork("a\0b"), "name"],
        [async () => ws.topic("t\0x").publish({}), "topic"],
        [() => ws.send("b\0x", {}), "agent"],
        [() => ws.send("b".repeat(501), {}), "agent"],
        [async () => createWorkspace((await opened!).saver, "v\0b"), "name"],
        [() => ws.lock("a", { ttl: "1ms" }, () => {}), "ttl"],
        [() => all(ws.watch({ since: -1 })), "since"],
        [() => ws.changes({ since: -1 }), "since"],
        [() => ws.changes({ limit: 0 }), "limit"],
        [() => ws.changes({ limit: 1001 }), "limit"],
        [() => ws.changes({ cursor: "e30" }), "cursor"],
        [() => ws.changes({ cursor: "", since: 1 }), "since"],
        [() => ws.changes({ maxBytes: -1 }), "maxBytes"],
        [() => ws.changes({ prefix: [""] }), "prefix"],
      ] as const)
        await expect(Promise.resolve().then(call as () => Promise<unknown>), field).rejects.toMatchObject({
          data: { field },
        });
      expect(await ws.version()).toBe(version);
    });
  });
}

function event(): [happened: Promise<void>, happen: () => void] {
  let happen = (): void => {};
  const happened = new Promise<void>((resolve) => (happen = resolve));
  return [happened, () => happen()];
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
