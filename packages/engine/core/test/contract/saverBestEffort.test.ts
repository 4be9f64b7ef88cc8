// long file: one storage with faults, and all that is promised beside them
import { setImmediate as turn } from "node:timers/promises";
import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import {
  DeltaSnapshot,
  emptyCheckpoint,
  uuid6,
  type CheckpointMetadata,
} from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import type { AppendRequest, MaybeAddress } from "@stratigraph/core/tier";
import { describe, expect, test, vi } from "vitest";
import { replacing, text as textOf, traced } from "./support.ts";

// Channels of the option `bestEffort` beside crashes and faults. What each storage makes of them is tested beside `verify`.

const looseNamespace = "__stratigraph_loose__";
/** A value that is too long for pending writes. */
const text = (name: string): string => textOf(name, 4);
const patience = { timeout: 20_000 };
const on = (threadId: string) => ({ configurable: { thread_id: threadId } });
const metadata: CheckpointMetadata = { source: "loop", step: 1, parents: {} };

/** A storage whose writes and reads of best-effort values a test may hold or fail; `written` has those that arrived. */
class Loose {
  readonly inner = new MemoryTier();
  readonly written: AppendRequest[] = [];
  held: Promise<void> | undefined;
  error: Error | undefined;
  #release = (): void => {};

  hold(): () => void {
    this.held = new Promise((resolve) => (this.#release = resolve));
    return () => {
      this.held = undefined;
      this.#release();
    };
  }

  /** A saver of a process of its own. */
  open(options: SaverOptions = { bestEffort: ["cache"] }): TierSaver {
    const tier: Tier = replacing(this.inner, {
      append: async (request: AppendRequest) => {
        if (request.records.some(({ namespace }) => namespace === looseNamespace)) {
          this.written.push(request);
          await this.held;
          if (this.error !== undefined) throw this.error;
        }
        return await this.inner.append(request);
      },
      read: async (at: MaybeAddress) => {
        if (at.namespace === looseNamespace && this.error !== undefined) throw this.error;
        return await this.inner.read(at);
      },
      end: async () => {},
    });
    return new TierSaver(tier, options);
  }
}

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  cache: Annotation<Record<string, string>>({ reducer: (_, b) => b, default: () => ({}) }),
});

/** Logs what it finds in the cache, and puts its input there. */
function filling(saver: TierSaver, value: (name: string) => unknown = text) {
  return new StateGraph(State)
    .addNode("fill", ({ log, cache }) => {
      const name = log.at(-1)!;
      return { log: [`found ${Object.keys(cache).join()}`], cache: { [name]: value(name) as string } };
    })
    .addEdge(START, "fill")
    .compile({ checkpointer: saver });
}

const fill = async (saver: TierSaver, name: string, value?: (name: string) => unknown) =>
  (await filling(saver, value).invoke({ log: [name] }, on("t"))).log.at(-1);

describe("written behind", () => {
  test("a run doesn't wait for it, and what waits is replaced by what is newer", async () => {
    const storage = new Loose();
    const saver = storage.open();
    const release = storage.hold();
    await fill(saver, "a");
    await vi.waitFor(() => expect(storage.written).toHaveLength(1), patience);
    for (const name of ["b", "c", "d"]) await fill(saver, name);
    release();
    await saver.end();
    expect(storage.written).toHaveLength(2);
    expect(await fill(storage.open(), "e")).toBe("found d");
  });

  test("a process that dies before leaves the thread with the default", async () => {
    const storage = new Loose();
    storage.hold();
    const saver = storage.open();
    await fill(saver, "a");
    expect(await fill(saver, "b")).toBe("found a");
    const next = storage.open();
    expect((await filling(next).getState(on("t"))).values).toEqual({
      log: ["a", "found ", "b", "found a"],
      cache: {},
    });
    expect(await fill(next, "c")).toBe("found ");
  });

  test("what is written is what was put, whatever the graph does to it afterwards", async () => {
    const storage = new Loose();
    const saver = storage.open();
    const given = { a: text("a") };
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const checkpoint = {
      ...emptyCheckpoint(),
      channel_values: { cache: given },
      channel_versions: { cache: 1 },
    };
    const putting = saver.put(config, checkpoint, metadata, { cache: 1 });
    given.a = "changed";
    await putting;
    await saver.end();
    const { checkpoint: read } = (await storage.open().getTuple(config))!;
    expect(read.channel_values).toEqual({ cache: { a: text("a") } });
    expect(read.channel_versions).toEqual({ cache: 1 });
  });

  test("a value that is the same isn't written again", async () => {
    const storage = new Loose();
    const saver = storage.open();
    for (const name of ["a", "a", "a"]) await fill(saver, name);
    await saver.end();
    expect(storage.written).toHaveLength(1);
    expect(await fill(storage.open(), "b")).toBe("found a");
  });

  test("end() waits for it, but not for ever", async () => {
    const events = traced();
    const storage = new Loose();
    storage.hold();
    const saver = storage.open();
    await fill(saver, "a");
    await vi.waitFor(() => expect(storage.written).toHaveLength(1), patience);
    await fill(saver, "b");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const ending = saver.end();
      for (let n = 0; n < 8; n += 1) {
        await vi.advanceTimersByTimeAsync(2500);
        await turn();
      }
      await ending;
    } finally {
      vi.useRealTimers();
    }
    expect(events).toContainEqual(expect.objectContaining({ type: "dropped" }));
    storage.hold()();
    await turn();
    expect(storage.written).toHaveLength(1);
  });

  test("a late one doesn't bring a deleted thread back", async () => {
    const events = traced();
    const storage = new Loose();
    const release = storage.hold();
    const saver = storage.open();
    await fill(saver, "a");
    await vi.waitFor(() => expect(storage.written).toHaveLength(1), patience);
    await saver.deleteThread("t");
    release();
    await saver.end();
    for await (const _ of storage.inner.list({ threadId: "t" })) throw new Error("something is there");
    expect(events.filter(({ type }) => type === "dropped")).toEqual([]);
  });

  test("what is too large to wait is dropped, and what can't be serialised", async () => {
    const events = traced();
    const storage = new Loose();
    const saver = storage.open();
    await fill(saver, "a", () => new Uint8Array(1));
    await filling(saver).updateState(on("t"), { cache: new Uint8Array(134_217_729) as never });
    await filling(saver).updateState(on("t"), { cache: { socket: () => {} } as never });
    expect(events.filter(({ type }) => type === "dropped")).toMatchObject([
      { error: { message: expect.stringContaining("too many") } },
      { error: { code: "SERIALIZATION" } },
      { error: { code: "SERIALIZATION" } },
    ]);
    await saver.end();
    expect(await fill(storage.open(), "b")).toBe("found ");
  });

  test("failures to write and to read are traced, and leave the default", async () => {
    const events = traced();
    const storage = new Loose();
    const saver = storage.open();
    await fill(saver, "a");
    await saver.end();
    storage.error = new Error("away");
    const other = storage.open();
    expect(await fill(other, "b")).toBe("found ");
    await other.end();
    expect(events.filter(({ type }) => type === "dropped")).toMatchObject([
      { error: storage.error },
      { error: storage.error },
    ]);
    storage.error = undefined;
    expect(await fill(storage.open(), "c")).toBe("found ");
  });
});

describe("pending writes", () => {
  /** Two nodes in one step: one fills the cache, the other asks. */
  function asking(saver: TierSaver, ran: string[], value: (name: string) => string) {
    return new StateGraph(State)
      .addNode("fill", ({ log }) => {
        ran.push(log.at(-1)!);
        return { cache: { [log.at(-1)!]: value(log.at(-1)!) } };
      })
      .addNode("ask", ({ log }) => (log.at(-1) === "b" ? { log: [interrupt("go on?") as string] } : {}))
      .addEdge(START, "fill")
      .addEdge(START, "ask")
      .compile({ checkpointer: saver });
  }

  test.each([
    ["long", text, {}],
    ["short", (name: string) => name, { b: "b" }],
  ])(
    "a %s one beside an interrupt: never the value before it, and its task isn't run again",
    async (_, value, found) => {
      const storage = new Loose();
      const saver = storage.open();
      const ran: string[] = [];
      await asking(saver, ran, value).invoke({ log: ["a"] }, on("t"));
      await asking(saver, ran, value).invoke({ log: ["b"] }, on("t"));
      await saver.end();
      const next = storage.open();
      const { cache, log } = await asking(next, ran, value).invoke(new Command({ resume: "yes" }), on("t"));
      expect({ cache, log, ran }).toEqual({ cache: found, log: ["a", "b", "yes"], ran: ["a", "b"] });
      await next.end();
      expect((await asking(storage.open(), ran, value).getState(on("t"))).values.cache).toEqual(found);
    },
  );

  test("a long one takes no bytes among the thread's", async () => {
    const storage = new Loose();
    const saver = storage.open();
    await asking(saver, [], (name) => textOf(name, 100)).invoke({ log: ["b"] }, on("t"));
    let bytes = 0;
    for (const { size } of await storage.inner.blobs("t")) bytes += size;
    expect(bytes).toBeLessThan(2000);
    await saver.end();
  });
});

describe("what it can't be", () => {
  test("a channel that makes a node run", async () => {
    const saver = new Loose().open();
    const checkpoint = {
      ...emptyCheckpoint(),
      channel_values: { cache: "a" },
      channel_versions: { cache: 1 },
      versions_seen: { __interrupt__: { cache: 1 }, reader: { cache: 1 } },
    };
    await expect(saver.put(on("t"), checkpoint, metadata)).rejects.toThrow('makes node "reader" run');
    expect(await saver.getTuple(on("t"))).toBeUndefined();
    const { reader: _, ...seen } = checkpoint.versions_seen;
    await saver.put(on("t"), { ...checkpoint, versions_seen: seen as never }, metadata);
  });

  test("a DeltaChannel", async () => {
    const saver = new Loose().open();
    const checkpoint = { ...emptyCheckpoint(), channel_versions: { cache: 1 } };
    const counted = { ...metadata, counters_since_delta_snapshot: { cache: [1, 1] as [number, number] } };
    const snapshot = { ...checkpoint, channel_values: { cache: new DeltaSnapshot(["a"]) } };
    for (const putting of [saver.put(on("t"), checkpoint, counted), saver.put(on("t"), snapshot, metadata)])
      await expect(putting).rejects.toThrow("It is a DeltaChannel");
  });
});

test("the list of channels may change: what was stored before is read by both versions of an application", async () => {
  const storage = new Loose();
  const turnOf = async (name: string, options?: SaverOptions) => {
    const saver = storage.open(options);
    const found = await fill(saver, name);
    await saver.end();
    return found;
  };
  expect(await turnOf("a", {})).toBe("found ");
  expect(await turnOf("b")).toBe("found a");
  expect(await turnOf("c", {})).toBe("found b");
  expect(await turnOf("d", {})).toBe("found c");
  expect(await turnOf("e")).toBe("found d");
  expect(storage.written).toHaveLength(2);
});

test("a channel's value from before it was in the list stays as safe as it was", async () => {
  const storage = new Loose();
  await fill(storage.open({}), "a");
  storage.hold();
  await filling(storage.open()).updateState(on("t"), { log: ["b"] });
  expect(await fill(storage.open(), "c")).toBe("found a");
});

test("an earlier checkpoint isn't read with a later one's value", async () => {
  const storage = new Loose();
  const saver = storage.open();
  const configs = [];
  let config: Parameters<TierSaver["put"]>[0] = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  for (const n of [1, 2, 3]) {
    const given = {
      ...emptyCheckpoint(),
      id: uuid6(n),
      channel_values: { cache: n },
      channel_versions: { cache: n },
    };
    configs.push((config = await saver.put(config, given, metadata, { cache: n })));
  }
  await saver.end();
  const found = [];
  for (const each of configs) found.push((await storage.open().getTuple(each))!.checkpoint.channel_values);
  expect(found).toEqual([{}, {}, { cache: 3 }]);
  const listed = [];
  for await (const { checkpoint } of storage.open().list(on("t"))) listed.push(checkpoint.channel_values);
  expect(listed).toEqual([{ cache: 3 }, {}, {}]);
});

test("two processes in turn find each other's value", async () => {
  const storage = new Loose();
  const savers = [storage.open(), storage.open()];
  for (let n = 0; n < 6; n += 1) {
    expect(await fill(savers[n % 2]!, `${n}`)).toBe(`found ${n === 0 ? "" : n - 1}`);
    await vi.waitFor(() => expect(storage.written).toHaveLength(n + 1), patience);
    await turn();
  }
});

test("calls of a subgraph leave one value together", async () => {
  const storage = new Loose();
  const saver = storage.open();
  const inner = new StateGraph(State)
    .addNode("fill", ({ log }) => ({ cache: { [log.length]: text("a") } }))
    .addNode("end", () => ({ log: ["done"] }))
    .addEdge(START, "fill")
    .addEdge("fill", "end")
    .compile();
  const outer = new StateGraph(Annotation.Root({ log: State.spec.log }))
    .addNode("inner", inner as never)
    .addEdge(START, "inner")
    .compile({ checkpointer: saver });
  for (const name of ["a", "b", "c"]) await outer.invoke({ log: [name] }, on("t"));
  await saver.end();
  const ids = [];
  for await (const { record } of storage.inner.list({ threadId: "t", namespace: looseNamespace }))
    ids.push(record.checkpointId);
  expect(ids).toEqual(['["inner","cache"]']);
});
