// long file: the contract of workspaces, one short story after another, and one run of random operations beside memory
import { randomUUID } from "node:crypto";
import { MemoryTier, type Tier } from "@stratigraph/core";
import { keepsItems, keepsWorkspaces } from "@stratigraph/core/internal";
import type {
  Commit,
  CommitResult,
  EntryBytes,
  ItemKeeper,
  ItemsAtQuery,
  LoggedChange,
  LogPage,
  LogQuery,
  StoredItem,
  VersionCheck,
  WorkspaceChange,
  WorkspaceKeeper,
} from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";

type WorkspaceTier = ItemKeeper & WorkspaceKeeper;

/** A tier on its own storage, and a second one on the same, as another process has it. */
export interface WorkspacePair {
  readonly tier: Tier;
  readonly other: Tier;
}

function keeping(tier: Tier): WorkspaceTier {
  if (keepsItems(tier) && keepsWorkspaces(tier)) return tier;
  throw new Error(`tier ${tier.name} keeps no workspaces`);
}

const all = [[]];
const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : Buffer.from(value).toString();

function commitOf(changes: readonly WorkspaceChange[], checks: readonly VersionCheck[] = []): Commit {
  return { id: randomUUID().replaceAll("-", ""), checks, changes };
}

/** A logged put. */
function put(
  namespace: readonly string[],
  key: string,
  value: string,
  more: Partial<WorkspaceChange> = {},
): WorkspaceChange {
  return { namespace, key, value: bytes(value), fields: {}, note: bytes(`put ${key.slice(0, 9)}`), ...more };
}

function made(result: CommitResult | undefined): { versions: readonly number[]; atMs: number } {
  if (result === undefined || "failed" in result) throw new Error(`not made: ${JSON.stringify(result)}`);
  return result;
}

/** Makes one commit. */
async function commit(
  { workspaces }: WorkspaceTier,
  name: string,
  changes: readonly WorkspaceChange[],
  checks: readonly VersionCheck[] = [],
): Promise<{ versions: readonly number[]; atMs: number }> {
  return made((await workspaces.commit(name, [commitOf(changes, checks)]))[0]);
}

async function read({ items }: WorkspaceTier, name: string, namespace: readonly string[], key: string) {
  return (await items.read([{ namespace: ["", name, ...namespace], key }]))[0];
}

/** All entries of a log, read page by page. */
async function entriesOf(
  { workspaces }: WorkspaceTier,
  name: string,
  query: Partial<LogQuery> = {},
): Promise<LoggedChange[]> {
  const found: LoggedChange[] = [];
  for (let page: LogPage | undefined; page === undefined || page.more;) {
    const last = found.at(-1)?.version;
    const next =
      query.newestFirst === true ? { before: last ?? query.before } : { after: last ?? query.after };
    page = await workspaces.log(name, { prefixes: all, limit: 7, ...query, ...next });
    found.push(...page.entries);
  }
  return found;
}

/** All items as they were at a version, read page by page. */
async function itemsAt(
  { workspaces }: WorkspaceTier,
  name: string,
  version: number,
  query: Partial<ItemsAtQuery> = {},
): Promise<StoredItem[]> {
  const found: StoredItem[] = [];
  for (let more = true; more;) {
    const page = await workspaces.itemsAt(name, {
      ...{ version, prefixes: all, limit: 3, after: found.at(-1) },
      ...query,
    });
    found.push(...page.items);
    ({ more } = page);
  }
  return found;
}

/** Trims a log to its end. Returns how many entries that removed. */
async function trim({ workspaces }: WorkspaceTier, name: string, version: number): Promise<number> {
  let removed = 0;
  for (let once = -1; once !== 0; removed += once) once = await workspaces.trim(name, version);
  return removed;
}

/** Reads an item until its time to live has passed. */
async function expired(tier: WorkspaceTier, name: string, key: string): Promise<void> {
  while ((await read(tier, name, [], key)) !== undefined);
}

/** Without fields that are undefined. */
const plain = ({ note, value }: EntryBytes): Partial<LoggedChange> => ({
  note,
  ...(value !== undefined && { value }),
});

/** Other bytes for an entry. */
const otherBytes = (was: LoggedChange): EntryBytes => ({
  was,
  note: bytes(`${text(was.note)}'`),
  value: was.value && bytes(`${text(was.value)}'`),
});

const shown = ({ namespace, key, kind, note, value }: LoggedChange): string =>
  `${kind} ${namespace.join("/")}:${key} ${text(note)} ${text(value) ?? "-"}`;

/**
 * The contract of a tier that keeps workspaces, on any storage.
 * @param opening opens a storage, for all tests: each has workspaces of its own
 */
export function testWorkspaceTier(name: string, opening: () => Promise<WorkspacePair>): void {
  let opened: Promise<WorkspacePair> | undefined;
  let count = 0;
  const open = async (): Promise<{ tier: WorkspaceTier; other: WorkspaceTier; ws: string }> => {
    const { tier, other } = await (opened ??= opening());
    return { tier: keeping(tier), other: keeping(other), ws: `ws ${(count += 1)} ${randomUUID()}` };
  };

  describe(`workspaces on ${name}`, () => {
    test("what a commit puts is an item of the tier, with its note, in another process too", async () => {
      const { tier, other, ws } = await open();
      const { versions, atMs } = await commit(tier, ws, [
        put(["plans"], "trip", "tea", { fields: { kind: "plan" } }),
        put([], "root", "", { note: bytes("") }),
      ]);
      expect(versions[1]).toBeGreaterThan(versions[0]!);
      const item = (await read(other, ws, ["plans"], "trip"))!;
      expect(item).toMatchObject({ namespace: ["", ws, "plans"], key: "trip", version: versions[0] });
      expect([text(item.value), text(item.note)]).toEqual(["tea", "put trip"]);
      expect([item.createdAtMs, item.updatedAtMs]).toEqual([atMs, atMs]);
      expect(text((await read(tier, ws, [], "root"))!.value)).toBe("");
      const search = { prefixes: [["", ws]], limit: 10 };
      const { items } = await other.items.search({
        ...search,
        tests: [{ field: "kind", in: ["plan"] }],
      });
      // The test narrows, and need not.
      expect(items.map((one) => [one.key, text(one.value), text(one.note)])).toContainEqual([
        ...["trip", "tea", "put trip"],
      ]);
      expect((await tier.items.search({ ...search, tests: [] })).items).toHaveLength(2);
      expect(await tier.items.namespaces({ prefixes: [["", ws]], limit: 10 })).toEqual([
        ["", ws],
        ["", ws, "plans"],
      ]);
    });

    test("items of a workspace aren't below prefixes that don't name it", async () => {
      const { tier, ws } = await open();
      await commit(tier, ws, [put(["a"], "k", "v"), put(["", "locks"], "k", "v")]);
      const found = async (prefix: readonly string[]): Promise<string[]> =>
        (await tier.items.search({ prefixes: [prefix], tests: [], limit: 1000 })).items
          .filter(({ namespace }) => namespace.includes(ws))
          .map(({ namespace }) => namespace.join("/"));
      expect(await found([])).toEqual([]);
      expect(await found(["a"])).toEqual([]);
      expect(await found(["", ws])).toEqual([`/${ws}/a`]);
      expect(await found(["", ws, "", "locks"])).toEqual([`/${ws}//locks`]);
      expect((await itemsAt(tier, ws, Number.MAX_SAFE_INTEGER)).map(({ namespace }) => namespace)).toEqual([
        ["a"],
      ]);
    });

    test("checks: an item at its version, or absent; a failed one is named, and nothing was done", async () => {
      const { tier, other, ws } = await open();
      const at = { namespace: ["a"], key: "k" };
      const begun = await commit(tier, ws, [put(["a"], "k", "1")], [{ ...at, version: 0 }]);
      const [version] = begun.versions as [number];
      const results = await other.workspaces.commit(ws, [
        commitOf([put(["a"], "k", "2"), put(["a"], "l", "2")], [{ ...at, version: 0 }]),
        commitOf(
          [put(["a"], "m", "2")],
          [
            { ...at, version },
            { ...at, key: "other", version: 0 },
            { ...at, namespace: ["b"], version: 5 },
            { ...at, version: version + 1 },
          ],
        ),
        commitOf([put(["a"], "k", "3")], [{ ...at, version }]),
        commitOf([put(["a"], "k", "4")], [{ ...at, version }]),
      ]);
      expect(results.map((result) => ("failed" in result ? result.failed : "made"))).toEqual([
        [0],
        [2, 3],
        "made",
        [0],
      ]);
      expect(text((await read(tier, ws, ["a"], "k"))!.value)).toBe("3");
      expect(await read(tier, ws, ["a"], "l")).toBeUndefined();
      expect(await entriesOf(tier, ws)).toHaveLength(2);
      const now = made(results[2]).versions[0]!;
      await commit(tier, ws, [{ ...at, note: bytes("gone") }], [{ ...at, version: now }]);
      await commit(tier, ws, [put(["a"], "k", "5")], [{ ...at, version: 0 }]);
    });

    test("a workspace whose first commit fails its check isn't there", async () => {
      const { tier, ws } = await open();
      const [result] = await tier.workspaces.commit(ws, [
        commitOf([put([], "k", "1")], [{ namespace: [], key: "k", version: 7 }]),
      ]);
      expect(result).toEqual({ failed: [0] });
      const before = { after: ws.slice(0, -1), limit: 1 };
      expect(await tier.workspaces.list(before)).not.toEqual([ws]);
      expect(await tier.workspaces.log(ws, { prefixes: all, limit: 1 })).toEqual({
        ...{
          version: 0,
          trimmed: 0,
          changedAtMs: 0,
          afterVersion: 0,
          afterAtMs: 0,
          entries: [],
          more: false,
        },
      });
      expect(await tier.workspaces.delete(ws, 0)).toBe(false);
      expect(await trim(tier, ws, 5)).toBe(0);
      await commit(tier, ws, [put([], "k", "1")], [{ namespace: [], key: "k", version: 0 }]);
      expect(await tier.workspaces.list(before)).toEqual([ws]);
    });

    test("the log has puts, deletions and messages in their order, and says its version", async () => {
      const { tier, other, ws } = await open();
      const first = await commit(tier, ws, [
        put(["a"], "k", "1"),
        { namespace: ["topic"], key: "m", value: bytes("hello"), note: bytes("said"), as: "message" },
        { namespace: ["topic"], key: "m", value: bytes("again"), note: bytes("said"), as: "message" },
        put(["a"], "unlogged", "x", { note: undefined }),
      ]);
      const second = await commit(other, ws, [
        { namespace: ["a"], key: "k", note: bytes("gone") },
        { namespace: ["a"], key: "never", note: bytes("gone too") },
        { namespace: ["a"], key: "unlogged" },
        { namespace: ["a"], key: "k2", as: "touch", ttlMs: 5 },
      ]);
      expect(second.versions.map((version) => version > 0)).toEqual([true, true, false, false]);
      expect(second.atMs).toBeGreaterThanOrEqual(first.atMs);
      const { entries, version, trimmed } = await tier.workspaces.log(ws, { prefixes: all, limit: 100 });
      expect(entries.map(shown)).toEqual([
        "put a:k put k 1",
        "message topic:m said hello",
        "message topic:m said again",
        "delete a:k gone -",
        "delete a:never gone too -",
      ]);
      const versions = [...first.versions.slice(0, 3), ...second.versions.slice(0, 2)];
      expect(entries.map((entry) => entry.version)).toEqual(versions);
      expect(entries.map(({ atMs }) => atMs)).toEqual([
        ...[first, first, first, second, second].map(({ atMs }) => atMs),
      ]);
      expect([version, trimmed]).toEqual([versions.at(-1), 0]);
      expect(await read(tier, ws, ["topic"], "m")).toBeUndefined();
      expect(await read(tier, ws, ["a"], "unlogged")).toBeUndefined();
    });

    test("a log is read by versions, time, prefixes and key, from either end, page by page", async () => {
      const { tier, ws } = await open();
      const namespaces = [["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["z"], ["a\u0001"], []];
      const times: number[] = [];
      for (let n = 0; n < 28; n += 1) {
        const { atMs } = await commit(tier, ws, [put(namespaces[n % 7]!, `k${n % 2}`, `${n}`)]);
        times.push(atMs);
      }
      const whole = await entriesOf(tier, ws);
      const found = async (query: Partial<LogQuery>): Promise<(number | undefined)[]> =>
        (await entriesOf(tier, ws, query)).map(({ value }) => Number(text(value)));
      const where = (test: (n: number) => boolean): number[] => [...times.keys()].filter(test);
      expect(await found({})).toEqual(where(() => true));
      expect(await found({ newestFirst: true })).toEqual(where(() => true).toReversed());
      expect(await found({ prefixes: [["a"]] })).toEqual(where((n) => n % 7 < 3));
      expect(await found({ prefixes: [["z"], ["a", "b"]] })).toEqual(where((n) => [1, 2, 4].includes(n % 7)));
      expect(await found({ prefixes: [["a"]], key: "k0" })).toEqual(where((n) => n % 7 === 0 && n % 2 === 0));
      expect(await found({ prefixes: all, key: "k1" })).toEqual(where((n) => n % 7 === 6 && n % 2 === 1));
      expect(await found({ prefixes: [["nothing"]] })).toEqual([]);
      const [after, before] = [whole[4]!.version, whole[20]!.version];
      expect(await found({ after, before })).toEqual(where((n) => n > 4 && n < 20));
      expect(await found({ after, before, newestFirst: true, prefixes: [["a"]] })).toEqual(
        where((n) => n > 4 && n < 20 && n % 7 < 3).toReversed(),
      );
      const untilMs = times[12]!;
      expect(await found({ untilMs })).toEqual(where((n) => times[n]! <= untilMs));
      expect(await found({ untilMs: times[0]! - 1 })).toEqual([]);
      const page = await tier.workspaces.log(ws, { prefixes: all, limit: 28 });
      expect(page.entries).toHaveLength(28);
      expect((await tier.workspaces.log(ws, { prefixes: all, limit: 5, newestFirst: true })).more).toBe(true);
    });

    test("a page of a log says when its newest entry was made, and which one is the newest up to where it begins", async () => {
      const { tier, other, ws } = await open();
      const made: { readonly version: number; readonly atMs: number }[] = [];
      for (let n = 0; n < 6; n += 1) {
        const { versions, atMs } = await commit(n % 2 === 0 ? tier : other, ws, [
          put([n % 3 === 0 ? "a" : "b"], `k${n}`, `${n}`),
        ]);
        made.push({ version: versions[0]!, atMs });
        // The next one is of another millisecond.
        for (const now = Date.now(); Date.now() < now + 2;);
      }
      const times = async (after: number, query: Partial<LogQuery> = {}) => {
        const page = await tier.workspaces.log(ws, { prefixes: all, limit: 1, after, ...query });
        return [page.changedAtMs, page.afterVersion, page.afterAtMs];
      };
      const newest = made.at(-1)!.atMs;
      // A commit without an entry.
      await commit(tier, ws, [put(["a"], "unlogged", "x", { note: undefined })]);
      expect(await times(0)).toEqual([newest, 0, 0]);
      expect(await times(made[0]!.version - 1)).toEqual([newest, 0, 0]);
      for (const { version, atMs } of made) {
        expect(await times(version)).toEqual([newest, version, atMs]);
        expect(await times(version, { prefixes: [["a"]], limit: 100 })).toEqual([newest, version, atMs]);
        expect(await times(version, { prefixes: [["nothing"]] })).toEqual([newest, version, atMs]);
        expect(await times(version, { prefixes: [["a"]], key: "k0" })).toEqual([newest, version, atMs]);
        expect(await times(version, { newestFirst: true, before: version })).toEqual([newest, version, atMs]);
      }
      expect(await times(Number.MAX_SAFE_INTEGER)).toEqual([newest, made.at(-1)!.version, newest]);
      await commit(other, ws, [{ namespace: ["a"], key: "k0", note: bytes("gone") }]);
      await trim(tier, ws, made[3]!.version);
      // The entry of made[3] stays: it says what its item is. Before the first that stays, there is none.
      const [first] = await entriesOf(tier, ws);
      expect((await times(made[3]!.version)).slice(1)).toEqual([made[3]!.version, made[3]!.atMs]);
      expect((await times(first!.version - 1)).slice(1)).toEqual([0, 0]);
      // The newest entry is a deletion, and goes: of it only the time of the newest commit is known.
      const last = await commit(tier, ws, [{ namespace: ["b"], key: "k1", note: bytes("gone") }]);
      await trim(tier, ws, last.versions[0]!);
      const [changed, version] = await times(last.versions[0]!);
      expect(changed).toBeGreaterThanOrEqual(last.atMs);
      expect(version).toBe(made.at(-1)!.version);
    });

    test("large values come in pages that are smaller than asked", async () => {
      const { tier, ws } = await open();
      const large = "x".repeat(3 * 1024 * 1024);
      const changes = ["a", "b", "c", "d", "e"].map((key) => put(["large"], key, `${key}${large}`));
      const { versions } = await commit(tier, ws, changes);
      const logged = await entriesOf(tier, ws, { limit: 100 });
      expect(logged.map(({ value }) => value!.length)).toEqual(changes.map(() => large.length + 1));
      const items = await itemsAt(tier, ws, versions.at(-1)!, { limit: 100 });
      expect(items.map(({ value }) => text(value)![0])).toEqual(["a", "b", "c", "d", "e"]);
    });

    test("a repeated commit is made once, and is answered as then", async () => {
      const { tier, other, ws } = await open();
      const one = commitOf(
        [put([], "k", "1"), put([], "quiet", "1", { note: undefined }), put([], "l", "1")],
        [{ namespace: [], key: "k", version: 0 }],
      );
      const first = made((await tier.workspaces.commit(ws, [one]))[0]);
      await commit(tier, ws, [put([], "k", "2")]);
      const next = commitOf([put([], "m", "1")]);
      const again = await other.workspaces.commit(ws, [one, next], { isRepeat: true });
      const [k, , l] = first.versions;
      expect(again[0]).toEqual({ versions: [k, 0, l], atMs: first.atMs });
      expect(made(again[1]).versions[0]).toBeGreaterThan(l!);
      expect(text((await read(tier, ws, [], "k"))!.value)).toBe("2");
      const third = await tier.workspaces.commit(ws, [next], { isRepeat: true });
      expect(third).toEqual([again[1]]);
      // The first call was on its way all the time.
      expect(await other.workspaces.commit(ws, [next])).toHaveLength(1);
      expect((await entriesOf(tier, ws)).filter(({ key }) => key === "m").length).toBeLessThanOrEqual(2);
    });

    test("times never go back, a second put keeps the time of creation, and deleting ends it", async () => {
      const { tier, other, ws } = await open();
      const first = await commit(tier, ws, [put([], "k", "1")]);
      const second = await commit(other, ws, [put([], "k", "2")]);
      expect(second.atMs).toBeGreaterThanOrEqual(first.atMs);
      const item = (await read(tier, ws, [], "k"))!;
      expect([item.createdAtMs, item.updatedAtMs]).toEqual([first.atMs, second.atMs]);
      await commit(tier, ws, [{ namespace: [], key: "k", note: bytes("gone") }]);
      const third = await commit(tier, ws, [put([], "k", "3")]);
      expect((await read(tier, ws, [], "k"))!.createdAtMs).toBe(third.atMs);
      const [then] = await itemsAt(tier, ws, second.versions[0]!);
      expect(then).toMatchObject({ createdAtMs: first.atMs, updatedAtMs: second.atMs });
      expect(text(then!.note)).toBe("put k");
    });

    test("items as they were at each version, page by page", async () => {
      const { tier, ws } = await open();
      const keys = ["a", "b", randomUUID(), "🦊", "nul\0", "l".repeat(10_000), `${"l".repeat(9999)}m`];
      const labels = [["x"], ["x", "y"], ["x%"], ["🦊"], []];
      const states: { version: number; items: Map<string, string> }[] = [];
      const items = new Map<string, string>();
      for (let n = 0; n < 90; n += 1) {
        const at = { namespace: labels[(n * 7) % 5]!, key: keys[(n * 3) % 7]! };
        const gone = n % 4 === 3;
        const { versions } = await commit(tier, ws, [
          gone ? { ...at, note: bytes("gone") } : put(at.namespace, at.key, `${n}`),
          { ...at, note: bytes("said"), as: "message" },
        ]);
        if (gone) items.delete(JSON.stringify(at));
        else items.set(JSON.stringify(at), `${n}`);
        if (n % 9 === 0) states.push({ version: versions[0]!, items: new Map(items) });
      }
      const seen = async (version: number, query: Partial<ItemsAtQuery> = {}) =>
        (await itemsAt(tier, ws, version, query)).map(
          (item) => [JSON.stringify({ namespace: item.namespace, key: item.key }), text(item.value)] as const,
        );
      for (const state of states) {
        const found = await seen(state.version);
        expect(found).toHaveLength(state.items.size);
        expect(new Map(found)).toEqual(state.items);
        for (const key of keys.slice(0, 4)) {
          const at = JSON.stringify({ namespace: ["x"], key });
          const one = await seen(state.version, { prefixes: [["x"]], key });
          expect(one).toEqual(state.items.has(at) ? [[at, state.items.get(at)]] : []);
        }
      }
      const last = states.at(-1)!;
      const below = [...last.items].filter(([at]) => (JSON.parse(at) as VersionCheck).namespace[0] === "x");
      expect(new Map(await seen(last.version, { prefixes: [["x"]] }))).toEqual(new Map(below));
      expect(new Map(await seen(last.version, { prefixes: [["x"], ["🦊"]], limit: 100 })).size).toBe(
        [...last.items].filter(([at]) => ["x", "🦊"].includes((JSON.parse(at) as VersionCheck).namespace[0]!))
          .length,
      );
      expect(await seen(0)).toEqual([]);
      const order = (await itemsAt(tier, ws, last.version)).map(({ namespace }) => namespace.join("\0"));
      expect(order).toEqual(
        order.toSorted((a, b) => Buffer.compare(Buffer.from(`${a}\0`), Buffer.from(`${b}\0`))),
      );
    });

    test("a trimmed log still knows items as they were at that version and later, and nothing else", async () => {
      const { tier, ws } = await open();
      await commit(tier, ws, [
        ...[put([], "stays", "1"), put([], "moves", "1"), put([], "goes", "1")],
        { namespace: [], key: "stays", note: bytes("said"), value: bytes("hi"), as: "message" },
      ]);
      const { versions } = await commit(tier, ws, [
        put([], "moves", "2"),
        { namespace: [], key: "goes", note: bytes("gone") },
      ]);
      const upTo = versions[1]!;
      const later = await commit(tier, ws, [put([], "moves", "3"), put([], "new", "3")]);
      const states = [upTo, later.versions[0]!, later.versions[1]!];
      const before = await Promise.all(states.map((version) => itemsAt(tier, ws, version)));
      // The first puts of "moves" and "goes", the deletion, and the message.
      expect(await trim(tier, ws, upTo)).toBe(4);
      expect(await trim(tier, ws, upTo)).toBe(0);
      expect(await Promise.all(states.map((version) => itemsAt(tier, ws, version)))).toEqual(before);
      expect(before[0]!.map(({ key, value }) => `${key} ${text(value)}`)).toEqual(["moves 2", "stays 1"]);
      expect((await entriesOf(tier, ws)).map(shown)).toEqual([
        "put :stays put stays 1",
        "put :moves put moves 2",
        "put :moves put moves 3",
        "put :new put new 3",
      ]);
      const state = { version: later.versions[1], trimmed: upTo };
      expect(await tier.workspaces.log(ws, { prefixes: all, limit: 1 })).toMatchObject(state);
      expect(text((await read(tier, ws, [], "stays"))!.value)).toBe("1");
      // What the first trim kept goes when it is followed by another change.
      await commit(tier, ws, [put([], "stays", "4"), { namespace: [], key: "new", note: bytes("gone") }]);
      expect(await trim(tier, ws, Number.MAX_SAFE_INTEGER)).toBe(4);
      expect((await entriesOf(tier, ws)).map(shown)).toEqual([
        "put :moves put moves 3",
        "put :stays put stays 4",
      ]);
    });

    test("a long log is trimmed a part at a time", async () => {
      const { tier, ws } = await open();
      let version = 0;
      for (let n = 0; n < 12; n += 1)
        version = (
          await commit(
            tier,
            ws,
            Array.from({ length: 200 }, (_, i) => put([`n${n % 2}`], `k${i}`, `${n}`)),
          )
        ).versions.at(-1)!;
      const once = await tier.workspaces.trim(ws, version);
      expect(once).toBeGreaterThan(0);
      expect(once).toBeLessThanOrEqual(1000);
      expect(once + (await trim(tier, ws, version))).toBe(2000);
      expect(await entriesOf(tier, ws, { limit: 500 })).toHaveLength(400);
      expect(await itemsAt(tier, ws, version, { limit: 500 })).toHaveLength(400);
    });

    test("a workspace is deleted at its version, with all it has, and may begin anew", async () => {
      const { tier, other, ws } = await open();
      const beside = `${ws}%`;
      await commit(tier, beside, [put(["a"], "k", "beside")]);
      const { versions } = await commit(tier, ws, [
        put(["a"], "k", "1"),
        put(["", "b"], "k", "1", { note: undefined }),
      ]);
      expect(await other.workspaces.delete(ws, versions[0]! - 1)).toBe(false);
      expect(await read(tier, ws, ["a"], "k")).toBeDefined();
      expect(await other.workspaces.delete(ws, versions[0]!)).toBe(true);
      expect(await tier.workspaces.delete(ws, versions[0]!)).toBe(false);
      expect(await read(tier, ws, ["a"], "k")).toBeUndefined();
      expect(await read(tier, ws, ["", "b"], "k")).toBeUndefined();
      expect(await itemsAt(tier, ws, versions[0]!)).toEqual([]);
      expect(await tier.workspaces.log(ws, { prefixes: all, limit: 9 })).toMatchObject({
        ...{ version: 0, trimmed: 0, entries: [] },
      });
      expect(await tier.items.namespaces({ prefixes: [["", ws]], limit: 9 })).toEqual([]);
      expect(text((await read(tier, beside, ["a"], "k"))!.value)).toBe("beside");
      const begun = await commit(
        tier,
        ws,
        [put(["a"], "k", "2")],
        [{ namespace: ["a"], key: "k", version: 0 }],
      );
      expect(begun.versions[0]).toBeGreaterThan(versions[0]!);
      expect((await entriesOf(other, ws)).map(shown)).toEqual(["put a:k put k 2"]);
      expect(text((await read(other, ws, ["a"], "k"))!.value)).toBe("2");
    });

    test("a large workspace is deleted whole", async () => {
      const { tier, ws } = await open();
      let version = 0;
      for (let n = 0; n < 5; n += 1)
        version = (
          await commit(
            tier,
            ws,
            Array.from({ length: 500 }, (_, i) => put([`n${i % 50}`], `k${i % (100 * (n + 1))}`, `${n}`)),
          )
        ).versions.at(-1)!;
      expect(await tier.workspaces.delete(ws, version)).toBe(true);
      expect(await tier.items.namespaces({ prefixes: [["", ws]], limit: 9 })).toEqual([]);
      expect(await entriesOf(tier, ws)).toEqual([]);
    });

    test("a commit while a workspace is deleted is made in the old one or in a new one, never in none", async () => {
      const { tier, other, ws } = await open();
      for (let n = 0; n < 20; n += 1) {
        const name = `${ws} ${n}`;
        const { versions } = await commit(tier, name, [put([], "k", "old")]);
        const [deleted, result] = await Promise.all([
          tier.workspaces.delete(name, versions[0]!),
          commit(other, name, [put([], "l", "late")]),
        ]);
        const entries = (await entriesOf(tier, name)).map(shown);
        expect(entries).toEqual(deleted ? ["put :l put l late"] : ["put :k put k old", "put :l put l late"]);
        expect((await read(tier, name, [], "l"))!.version).toBe(result.versions[0]);
        expect((await read(tier, name, [], "k")) === undefined).toBe(deleted);
      }
    });

    test("workspaces are listed in the order of their names, and those that look like each other are kept apart", async () => {
      const { tier, other, ws } = await open();
      const names = ["", "%", "_", "\\", "'", "/", "a", "A", "🦊", "\uff5e", "é", "e\u0301", "x".repeat(900)]
        .map((end) => `${ws}${end}`)
        .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      for (const one of names.toReversed()) await commit(tier, one, [put([one], "k", one)]);
      const listed: string[] = [];
      for (let page: readonly string[] = ["?"]; page.length > 0; listed.push(...page))
        page = (await other.workspaces.list({ after: listed.at(-1) ?? ws.slice(0, -1), limit: 4 })).filter(
          (one) => one.startsWith(ws),
        );
      expect(listed).toEqual(names);
      for (const one of names) {
        expect((await entriesOf(tier, one)).map(({ value }) => text(value))).toEqual([one]);
        expect((await itemsAt(tier, one, Number.MAX_SAFE_INTEGER)).map(({ namespace }) => namespace)).toEqual(
          [[one]],
        );
      }
    });

    test("an item whose time has passed is absent to checks and to reads of old versions; a touch prolongs it", async () => {
      const { tier, ws } = await open();
      const at = { namespace: [], key: "short" };
      const { versions } = await commit(tier, ws, [
        put([], "short", "1", { ttlMs: 1 }),
        put([], "long", "1", { ttlMs: 3_600_000 }),
        put([], "ended", "1"),
      ]);
      await expired(tier, ws, "short");
      const [version] = versions as [number];
      const results = await tier.workspaces.commit(ws, [
        commitOf([{ ...at, as: "touch", ttlMs: 1000 }], [{ ...at, version }]),
        commitOf([{ ...at, as: "touch", ttlMs: 1000 }], [{ ...at, version: 0 }]),
        commitOf([
          { ...at, key: "long", as: "touch" },
          { ...at, key: "ended", as: "touch", ttlMs: 1 },
        ]),
      ]);
      expect(results).toMatchObject([{ failed: [0] }, { versions: [0] }, { versions: [0, 0] }]);
      expect(await read(tier, ws, [], "short")).toBeUndefined();
      await expired(tier, ws, "ended");
      const left = await itemsAt(tier, ws, versions.at(-1)!);
      expect(left.map(({ key }) => key)).toEqual(["long"]);
      expect((await read(tier, ws, [], "long"))!.version).toBe(versions[1]);
      const again = await commit(tier, ws, [put([], "short", "2")], [{ ...at, version: 0 }]);
      expect((await read(tier, ws, [], "short"))!.createdAtMs).toBe(again.atMs);
      // What has expired doesn't stay in the log for ever.
      await trim(tier, ws, again.versions[0]!);
      expect((await entriesOf(tier, ws)).map(({ key }) => key)).toEqual(["long", "short"]);
    });

    test("a read that says so lets an item with a time to live stay, in the store and in a workspace", async () => {
      const { tier, other, ws } = await open();
      const puts = [
        put([], "stays", "1", { ttlMs: 1000 }),
        put([], "goes", "1", { ttlMs: 1000 }),
        put([], "ever", "1"),
      ];
      const reads = [[ws], ["", ws]].flatMap((namespace) => [
        { namespace, key: "stays", refreshMs: 3_600_000 },
        { namespace, key: "goes" },
        { namespace, key: "ever", refreshMs: 1 },
      ]);
      const keys = async (): Promise<unknown[]> => (await other.items.read(reads)).map((item) => item?.key);
      // Until all are read before the second is over, on a busy machine too.
      const putAndRead = async (): Promise<unknown[]> => {
        await tier.items.change(puts.map((change) => ({ ...change, namespace: [ws], note: undefined })));
        await commit(tier, ws, puts);
        return await keys();
      };
      const whole = ["stays", "goes", "ever", "stays", "goes", "ever"];
      const left = ["stays", undefined, "ever", "stays", undefined, "ever"];
      await expect.poll(putAndRead, { timeout: 60_000 }).toEqual(whole);
      await expect.poll(keys, { timeout: 60_000 }).toEqual(left);
      // What has expired isn't brought back.
      for (const at of reads) Object.assign(at, { refreshMs: 3_600_000 });
      expect([await keys(), await keys()]).toEqual([left, left]);
      // Others of the storage can't decode them.
      await tier.items.change(puts.map(({ key }) => ({ namespace: [ws], key })));
    });

    test("eight writers that increment one number by its version lose none", async () => {
      const { tier, other, ws } = await open();
      const at = { namespace: ["n"], key: "number" };
      const increments = async (mine: WorkspaceTier): Promise<void> => {
        for (let done = 0; done < 50;) {
          const item = await read(mine, ws, at.namespace, at.key);
          const next = put(at.namespace, at.key, `${Number(text(item?.value) ?? 0) + 1}`);
          const check = { ...at, version: item?.version ?? 0 };
          const [result] = await mine.workspaces.commit(ws, [commitOf([next], [check])]);
          if ("versions" in result!) done += 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, n) => increments(n % 2 === 0 ? tier : other)));
      expect(text((await read(tier, ws, at.namespace, at.key))!.value)).toBe("400");
      const values = (await entriesOf(other, ws, { limit: 100 })).map(({ value }) => Number(text(value)));
      expect(values).toEqual(Array.from({ length: 400 }, (_, n) => n + 1));
    });

    test("who reads a log by the last version seen, while many write it, misses nothing", async () => {
      const { tier, other, ws } = await open();
      const writes = async (mine: WorkspaceTier, writer: number): Promise<string[]> => {
        const written: string[] = [];
        for (let n = 0; n < 40; n += 1) {
          const said = [`${writer}-${n}-a`, `${writer}-${n}-b`];
          written.push(...said);
          await commit(mine, ws, [
            { namespace: ["topic"], key: "m", value: bytes(said[0]!), note: bytes(""), as: "message" },
            put(["own"], `w${writer}`, said[1]!),
          ]);
        }
        return written;
      };
      const state = { writing: true };
      const reading = async (mine: WorkspaceTier): Promise<LoggedChange[]> => {
        const seen: LoggedChange[] = [];
        for (let last = false; !last;) {
          last = !state.writing;
          for (let more = true; more;) {
            const page = await mine.workspaces.log(ws, {
              prefixes: all,
              after: seen.at(-1)?.version,
              limit: 9,
            });
            seen.push(...page.entries);
            ({ more } = page);
            expect(page.version).toBeGreaterThanOrEqual(seen.at(-1)?.version ?? 0);
          }
        }
        return seen;
      };
      const readers = Promise.all([reading(tier), reading(other)]);
      const written = await Promise.all(
        Array.from({ length: 8 }, (_, n) => writes(n % 2 === 0 ? tier : other, n)),
      ).finally(() => {
        state.writing = false;
      });
      for (const seen of await readers) {
        expect(seen.map(({ value }) => text(value)).toSorted()).toEqual(written.flat().toSorted());
        const versions = seen.map(({ version }) => version);
        expect(versions).toEqual(versions.toSorted((a, b) => a - b));
        const times = seen.map(({ atMs }) => atMs);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }
    });

    test("bytes of entries are replaced, and those of their items; nothing else changes", async () => {
      const { tier, other, ws } = await open();
      const large = "x".repeat(100_000);
      const at = { namespace: ["", "topics", "t"], key: "" };
      const { versions } = await commit(tier, ws, [
        put(["a"], "old", "1"),
        put(["a"], "k", "2", { fields: { kind: "plan" }, ttlMs: 3_600_000 }),
        put(["a"], "large", large),
        put(["a"], "empty", ""),
        { ...at, value: bytes("hello"), note: bytes("said"), as: "message" },
        { ...at, note: bytes("nothing"), as: "message" },
        put(["a"], "quiet", "3", { note: undefined }),
      ]);
      await commit(tier, ws, [
        put(["a"], "old", "4"),
        { namespace: ["a"], key: "gone", note: bytes("gone") },
      ]);
      const before = await tier.workspaces.log(ws, { prefixes: all, limit: 100 });
      const known = async (mine: WorkspaceTier) => {
        const items = await itemsAt(mine, ws, before.version);
        const found = await mine.items.search({ prefixes: [["", ws]], tests: [], limit: 100 });
        return [...items, ...found.items].map((item) => ({ ...item, value: undefined, note: undefined }));
      };
      const items = await known(tier);
      expect(await other.workspaces.replace(ws, before.entries.map(otherBytes))).toBe(before.entries.length);
      const after = await tier.workspaces.log(ws, { prefixes: all, limit: 100 });
      expect(after).toEqual({
        ...before,
        entries: before.entries.map((entry) => ({ ...entry, ...plain(otherBytes(entry)) })),
      });
      expect(await known(tier)).toEqual(items);
      const said = async (key: string) => {
        const item = await read(tier, ws, ["a"], key);
        return [text(item?.note), text(item?.value)?.slice(-3)];
      };
      expect(await said("old")).toEqual(["put old'", "4'"]);
      expect(await said("k")).toEqual(["put k'", "2'"]);
      expect(await said("large")).toEqual(["put large'", "xx'"]);
      expect(await said("empty")).toEqual(["put empty'", "'"]);
      expect(await said("quiet")).toEqual([undefined, "3"]);
      const past = await itemsAt(other, ws, versions[3]!);
      expect(past.map(({ key, value }) => [key, text(value)!.slice(-3)]).toSorted()).toEqual([
        ["empty", "'"],
        ["k", "2'"],
        ["large", "xx'"],
        ["old", "1'"],
      ]);
      const search = { prefixes: [["", ws]], limit: 10, tests: [{ field: "kind", in: ["other"] }] };
      expect((await tier.items.search(search)).items.map(({ key }) => key)).toContain("k");
      // The item still goes by its version, and what was replaced can be replaced again.
      const check = { namespace: ["a"], key: "k", version: versions[1]! };
      await commit(
        tier,
        ws,
        [{ namespace: ["a"], key: "k", as: "touch" }, put(["a"], "empty", "5")],
        [check],
      );
      expect(await tier.workspaces.replace(ws, after.entries.map(otherBytes))).toBe(after.entries.length);
      expect(await said("k")).toEqual(["put k''", "2''"]);
      expect(await said("empty")).toEqual(["put empty", "5"]);
      await trim(tier, ws, Number.MAX_SAFE_INTEGER);
      expect((await entriesOf(tier, ws)).map(({ key, value }) => [key, text(value)!.slice(-3)])).toEqual([
        ["k", "2''"],
        ["large", "x''"],
        ["old", "4''"],
        ["empty", "5"],
      ]);
    });

    test("bytes that another one replaced, or that are gone, aren't replaced", async () => {
      const { tier, other, ws } = await open();
      expect(await tier.workspaces.replace(ws, [])).toBe(0);
      await commit(tier, ws, [put(["a"], "k", "1"), put(["a"], "l", "1")]);
      const [k, l] = (await entriesOf(tier, ws)) as [LoggedChange, LoggedChange];
      expect(await tier.workspaces.replace(`${ws} other`, [otherBytes(k)])).toBe(0);
      const both = await Promise.all(
        [tier, other].map(
          async ({ workspaces }) => await workspaces.replace(ws, [otherBytes(k), otherBytes(l)]),
        ),
      );
      expect(both[0]! + both[1]!).toBe(2);
      expect(await tier.workspaces.replace(ws, [otherBytes(k)])).toBe(0);
      const now = (await entriesOf(tier, ws))[1]!;
      // Of these, one has another note, and one another value.
      expect(await tier.workspaces.replace(ws, [{ ...otherBytes(now), was: { ...now, note: l.note } }])).toBe(
        0,
      );
      expect(
        await tier.workspaces.replace(ws, [{ ...otherBytes(now), was: { ...now, value: l.value } }]),
      ).toBe(0);
      expect((await entriesOf(tier, ws)).map(shown)).toEqual(["put a:k put k' 1'", "put a:l put l' 1'"]);
      await commit(tier, ws, [put(["a"], "l", "2")]);
      await trim(tier, ws, Number.MAX_SAFE_INTEGER);
      expect(await tier.workspaces.replace(ws, [otherBytes(now)])).toBe(0);
      expect((await entriesOf(tier, ws)).map(shown)).toEqual(["put a:k put k' 1'", "put a:l put l 2"]);
    });

    test("what others write while bytes are replaced stays", async () => {
      const { tier, other, ws } = await open();
      const keys = ["a", "b", "c", "d"];
      await commit(
        tier,
        ws,
        keys.map((key) => put([], key, "0")),
      );
      const state = { writing: true };
      const replaces = async (): Promise<void> => {
        while (state.writing)
          await other.workspaces.replace(ws, (await entriesOf(other, ws, { limit: 100 })).map(otherBytes));
      };
      const replacing = replaces();
      for (let n = 1; n <= 60; n += 1) {
        const [key, touched] = [keys[n % 4]!, keys[(n + 1) % 4]!];
        const item = (await read(tier, ws, [], key))!;
        const changes: WorkspaceChange[] = [
          put([], key, `${n}`),
          { namespace: [], key: touched, as: "touch", ttlMs: 3_600_000 },
        ];
        await commit(tier, ws, changes, [{ namespace: [], key, version: item.version }]);
        if (n % 10 === 0) await trim(tier, ws, item.version);
      }
      state.writing = false;
      await replacing;
      const newest = await Promise.all(keys.map(async (key) => text((await read(tier, ws, [], key))!.value)));
      expect(newest.map((value) => value!.replaceAll("'", ""))).toEqual(["60", "57", "58", "59"]);
      const logged = await itemsAt(tier, ws, Number.MAX_SAFE_INTEGER);
      expect(logged.map(({ value }) => text(value)).toSorted()).toEqual(newest.toSorted());
    });

    test("a commit wakes who waits for it in another process, and a signal ends the waiting", async () => {
      const { tier, other, ws } = await open();
      if (other.workspaces.changed === undefined) return;
      const stop = new AbortController();
      // Who waits while only commits of this process are told of looks once more as soon as all are.
      let news = other.workspaces.changed(ws, stop.signal);
      while (!news.ofAllProcesses) {
        await news.come;
        news = other.workspaces.changed(ws, stop.signal);
      }
      for (let round = 0; round < 3; round += 1) {
        const here = tier.workspaces.changed!(ws, stop.signal);
        await commit(tier, ws, [put([], "k", `${round}`)]);
        await Promise.all([here.come, news.come]);
        news = other.workspaces.changed(ws, stop.signal);
      }
      const long = [news, other.workspaces.changed(`${ws} nobody`, stop.signal)];
      stop.abort();
      await Promise.all(long.map(({ come }) => come));
      await other.workspaces.changed(ws, AbortSignal.abort()).come;
    });

    test("random operations end as on memory", { timeout: 120_000 }, async () => {
      const { tier, other, ws } = await open();
      const memory = new MemoryTier();
      let seed = 11;
      const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
      const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
      const labels = [["a"], ["a", "b%"], ["a", "b_"], ["🦊"], ["é"], [], ["", "locks"], ["a", "", "x"]];
      const keys = [
        ...["k", "K", "🦊", "nul\0", "\0", "01234567-89ab-cdef-0123-456789abcdef"],
        ...["l".repeat(10_000), `${"l".repeat(9999)}m`],
      ];
      const address = () => ({ namespace: pick(labels), key: pick(keys) });
      // Versions of both, by rank: place n of each list is the same change.
      const ours: number[] = [0];
      const theirs: number[] = [0];
      const rank = (list: readonly number[], version: number): number => list.lastIndexOf(version);
      const change = (): WorkspaceChange => {
        const value = bytes(`${random(1000)}`);
        const note = bytes(`note ${random(1000)}`);
        const kind = random(10);
        const at = address();
        if (kind < 5) return { ...at, value, note, fields: {} };
        if (kind === 5) return { ...at, value, fields: {} };
        if (kind === 6) return { ...at, note };
        if (kind === 7) return at;
        if (kind === 8) return { ...at, as: "touch", ttlMs: 3_600_000 };
        return { ...at, note, as: "message", ...(random(2) === 0 ? {} : { value }) };
      };
      const unlike = (changes: readonly WorkspaceChange[]): WorkspaceChange[] => {
        const seen = new Set<string>();
        return changes.filter((one) => {
          const at = JSON.stringify([one.namespace, one.key]);
          return one.as === "message" || (!seen.has(at) && seen.add(at));
        });
      };
      const comparable = (list: readonly number[], item: StoredItem | LoggedChange | undefined) =>
        item && [
          ...[
            item.namespace.at(0) === "" && item.namespace.at(1) === ws
              ? item.namespace.slice(2)
              : item.namespace,
          ],
          ...[item.key, text(item.value), text(item.note), rank(list, item.version)],
          "kind" in item ? item.kind : "",
        ];
      const sorted = (items: readonly unknown[]): string[] =>
        items.map((item) => JSON.stringify(item)).toSorted();
      let last: [Commit, Commit][] = [];
      for (let round = 0; round < 250; round += 1) {
        const mine = pick([tier, other]);
        const isRepeat = random(6) === 0 && last.length > 0;
        if (!isRepeat)
          last = Array.from({ length: 1 + random(3) }, () => {
            const checks = Array.from({ length: random(3) }, () => {
              const at = address();
              return { at, place: random(3) === 0 ? random(ours.length) : undefined };
            });
            const changes = unlike(Array.from({ length: random(4) }, change));
            const { id } = commitOf([]);
            return [id, checks, changes] as const;
          }).map(([id, checks, changes]) => {
            const of = (list: readonly number[]): Commit => ({
              id,
              changes,
              checks: checks.map(({ at, place }) => ({
                ...at,
                version: place === undefined ? 0 : list[place]!,
              })),
            });
            return [of(ours), of(theirs)];
          });
        const [got, expected] = await Promise.all([
          mine.workspaces.commit(
            ws,
            last.map(([one]) => one),
            { isRepeat },
          ),
          memory.workspaces.commit(
            ws,
            last.map(([, one]) => one),
            { isRepeat },
          ),
        ]);
        for (const [nth, result] of expected.entries()) {
          if ("failed" in result) {
            expect(got[nth]).toEqual(result);
            continue;
          }
          const { versions } = made(got[nth]);
          expect(versions.map((version) => version > 0)).toEqual(
            result.versions.map((version) => version > 0),
          );
          for (const [place, version] of result.versions.entries()) {
            const known = rank(theirs, version);
            if (version === 0) continue;
            if (known >= 0) expect(rank(ours, versions[place]!)).toBe(known);
            else [ours, theirs].forEach((list, of) => list.push(of === 0 ? versions[place]! : version));
          }
        }
        if (round % 4 === 0) {
          const from = (round * 7) % ours.length;
          for (const [{ workspaces }, list] of [
            [mine, ours],
            [memory, theirs],
          ] as const) {
            const { entries } = await workspaces.log(ws, { prefixes: all, after: list[from]!, limit: 5 });
            expect(await workspaces.replace(ws, entries.map(otherBytes))).toBe(entries.length);
          }
        }
        const probe = random(5);
        const place = random(ours.length);
        if (probe === 0) {
          const at = address();
          const inside = { namespace: ["", ws, ...at.namespace], key: at.key };
          const [[a], [b]] = await Promise.all([mine.items.read([inside]), memory.items.read([inside])]);
          expect(comparable(ours, a)).toEqual(comparable(theirs, b));
        } else if (probe === 1) {
          const query = {
            prefixes: pick([all, [["a"]], [["🦊"], ["a", "b%"]], [[""]]]),
            newestFirst: random(2) === 0,
            limit: 1 + random(8),
            ...(random(4) === 0 ? { prefixes: [pick(labels)], key: pick(keys) } : {}),
          };
          const [from, to] = [random(ours.length), random(ours.length)];
          const bounds = (list: readonly number[]) => ({
            after: list[from]!,
            ...(to > from ? { before: list[to]! } : {}),
          });
          const [a, b] = await Promise.all([
            mine.workspaces.log(ws, { ...query, ...bounds(ours) }),
            memory.workspaces.log(ws, { ...query, ...bounds(theirs) }),
          ]);
          expect(a.entries.map((entry) => comparable(ours, entry))).toEqual(
            b.entries.map((entry) => comparable(theirs, entry)),
          );
          expect(rank(ours, a.version)).toBe(rank(theirs, b.version));
          if (b.more) expect(a.more).toBe(true);
        } else if (probe === 2) {
          const query = { prefixes: pick([all, [["a"]], [["é"], ["a", "b_"]], [["", "locks"]]]) };
          const [a, b] = await Promise.all([
            itemsAt(mine, ws, ours[place]!, query),
            itemsAt(memory, ws, theirs[place]!, query),
          ]);
          expect(sorted(a.map((item) => comparable(ours, item)))).toEqual(
            sorted(b.map((item) => comparable(theirs, item))),
          );
        } else if (probe === 3 && random(4) === 0) {
          const upTo = Math.floor(ours.length * 0.6);
          expect(await trim(mine, ws, ours[upTo]!)).toBe(await trim(memory, ws, theirs[upTo]!));
        } else {
          const search = { prefixes: [["", ws]], tests: [], limit: 100 };
          const [a, b] = await Promise.all([mine.items.search(search), memory.items.search(search)]);
          expect(a.items.map((item) => comparable(ours, item))).toEqual(
            b.items.map((item) => comparable(theirs, item)),
          );
        }
      }
      const [a, b] = await Promise.all([entriesOf(tier, ws), entriesOf(memory, ws)]);
      expect(a.map((entry) => comparable(ours, entry))).toEqual(b.map((entry) => comparable(theirs, entry)));
      expect(a.length).toBeGreaterThan(50);
      await memory.end();
    });
  });
}
