import { strict as assert } from "node:assert";
import { clauseGroup } from "./clause.ts";
import {
  at,
  idOf,
  listIds,
  makeCheckpoint,
  makeMetadata,
  mustGet,
  newThread,
  putLine,
  putOne,
} from "./fixtures.ts";

/** `put`, and what `getTuple` returns after it. */
export const putClauses = clauseGroup("put", {
  put_returns_config: async ({ saver }) => {
    const thread = newThread();
    const checkpoint = makeCheckpoint({ channel_values: { k: "v" }, channel_versions: { k: 1 } });
    const stored = await saver.put(at(thread), checkpoint, makeMetadata(), { k: 1 });
    assert.deepEqual(stored, at(thread, { id: checkpoint.id }));
  },

  put_roundtrip: async ({ saver }) => {
    const checkpoint = makeCheckpoint({ channel_values: { msg: "hello" }, channel_versions: { msg: 1 } });
    const stored = await saver.put(at(newThread()), checkpoint, makeMetadata({ source: "input", step: -1 }), {
      msg: 1,
    });
    assert.deepEqual((await mustGet(saver, stored)).checkpoint, checkpoint);
  },

  put_preserves_channel_values: async ({ saver }) => {
    const values = {
      text: "hello ü 😀",
      empty: "",
      integer: 42,
      fraction: -0.25,
      yes: true,
      nothing: null,
      list: [1, [2, []], 3],
      object: { nested: { deep: [null, { a: 1 }] } },
    };
    const tuple = await mustGet(saver, await putOne(saver, newThread(), { values }));
    assert.deepEqual(tuple.checkpoint.channel_values, values);
  },

  put_preserves_bytes: async ({ saver }) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const tuple = await mustGet(saver, await putOne(saver, newThread(), { values: { bytes } }));
    const read: unknown = tuple.checkpoint.channel_values["bytes"];
    assert.ok(read instanceof Uint8Array, `bytes came back as ${typeof read}`);
    assert.deepEqual(Array.from(read), Array.from(bytes));
  },

  put_preserves_channel_versions: async ({ saver }) => {
    const versions = { a: 1, b: 2 };
    const tuple = await mustGet(
      saver,
      await putOne(saver, newThread(), { values: { a: "x", b: "y" }, versions }),
    );
    assert.deepEqual(tuple.checkpoint.channel_versions, versions);
  },

  put_preserves_versions_seen: async ({ saver }) => {
    const seen = { node1: { ch: 1 }, node2: { ch: 2 } };
    const tuple = await mustGet(
      saver,
      await putOne(saver, newThread(), { checkpoint: { versions_seen: seen } }),
    );
    assert.deepEqual(Object.keys(tuple.checkpoint.versions_seen).sort(), ["node1", "node2"]);
  },

  put_preserves_versions_seen_values: async ({ saver }) => {
    const seen = { node1: { ch_a: 1, ch_b: 2 }, node2: { ch_a: 3 } };
    const tuple = await mustGet(
      saver,
      await putOne(saver, newThread(), { checkpoint: { versions_seen: seen } }),
    );
    assert.deepEqual(tuple.checkpoint.versions_seen, seen);
  },

  put_preserves_metadata: async ({ saver }) => {
    const metadata = { source: "loop", step: 3, parents: {}, custom_key: "custom_value" };
    const tuple = await mustGet(saver, await putOne(saver, newThread(), { metadata }));
    assert.deepEqual(tuple.metadata, metadata);
  },

  put_preserves_nested_metadata: async ({ saver }) => {
    const user = {
      profile: {
        name: "alice",
        tags: ["admin", "rag"],
        prefs: { theme: "dark", n: 3, flag: true },
        none: {},
        no: [],
      },
      metrics: [
        { step: 1, score: 0.95 },
        { step: 2, score: null },
      ],
    };
    const metadata = { source: "input", step: 1, parents: { "": "p" }, user };
    const tuple = await mustGet(saver, await putOne(saver, newThread(), { metadata }));
    assert.deepEqual(tuple.metadata, metadata);
  },

  put_root_namespace: async ({ saver }) => {
    const tuple = await mustGet(saver, await putOne(saver, newThread(), { ns: "" }));
    assert.equal(tuple.config.configurable?.["checkpoint_ns"], "");
  },

  put_child_namespace: async ({ saver }) => {
    const tuple = await mustGet(saver, await putOne(saver, newThread(), { ns: "child:abc|deeper:1" }));
    assert.equal(tuple.config.configurable?.["checkpoint_ns"], "child:abc|deeper:1");
  },

  put_default_namespace: async ({ saver }) => {
    const thread = newThread();
    const config = { configurable: { thread_id: thread } };
    const checkpoint = makeCheckpoint();
    await saver.put(config, checkpoint, makeMetadata(), {});
    assert.equal((await mustGet(saver, at(thread, { ns: "" }))).checkpoint.id, checkpoint.id);
    assert.equal((await mustGet(saver, config)).checkpoint.id, checkpoint.id);
  },

  put_multiple_checkpoints_same_thread: async ({ saver }) => {
    const thread = newThread();
    const stored = await putLine(saver, thread, 3);
    for (const [step, config] of stored.entries()) {
      const tuple = await mustGet(saver, at(thread, { id: idOf(config) }));
      assert.deepEqual([tuple.checkpoint.id, tuple.metadata?.step], [idOf(config), step]);
    }
  },

  put_multiple_threads_isolated: async ({ saver }) => {
    const [one, two] = [newThread(), newThread()];
    await putOne(saver, one, { values: { x: "one" } });
    await putOne(saver, two, { values: { x: "two" } });
    assert.deepEqual((await mustGet(saver, at(one))).checkpoint.channel_values, { x: "one" });
    assert.deepEqual((await mustGet(saver, at(two))).checkpoint.channel_values, { x: "two" });
  },

  put_parent_config: async ({ saver }) => {
    const thread = newThread();
    const [first, second] = await putLine(saver, thread, 2);
    const tuple = await mustGet(saver, second ?? {});
    assert.deepEqual(tuple.parentConfig, at(thread, { id: idOf(first) }));
  },

  put_incremental_channel_update: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread, { values: { a: "v1", b: "v2" } });
    const second = await putOne(saver, thread, {
      parent: idOf(first),
      values: { a: "v1_updated", b: "v2" },
      versions: { a: 2, b: 1 },
      newVersions: { a: 2 },
    });
    assert.deepEqual((await mustGet(saver, second)).checkpoint.channel_values, { a: "v1_updated", b: "v2" });
    assert.deepEqual((await mustGet(saver, first)).checkpoint.channel_values, { a: "v1", b: "v2" });
  },

  put_new_channel_added: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread, { values: { a: "v1" } });
    const second = await putOne(saver, thread, {
      parent: idOf(first),
      values: { a: "v1", b: "new" },
      newVersions: { b: 1 },
    });
    assert.deepEqual((await mustGet(saver, second)).checkpoint.channel_values, { a: "v1", b: "new" });
  },

  put_channel_removed: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread, { values: { a: "v1", b: "v2" } });
    const second = await putOne(saver, thread, {
      parent: idOf(first),
      values: { a: "v1_updated" },
      versions: { a: 2 },
    });
    assert.deepEqual((await mustGet(saver, second)).checkpoint.channel_values, { a: "v1_updated" });
  },

  /** For LangGraph.js: a channel with a new version but no value was emptied. */
  put_channel_emptied_stays_empty: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread, { values: { a: "v1", b: "v2" } });
    const second = await putOne(saver, thread, {
      parent: idOf(first),
      values: { a: "v1" },
      versions: { a: 1, b: 2 },
      newVersions: { b: 2 },
    });
    assert.deepEqual((await mustGet(saver, second)).checkpoint.channel_values, { a: "v1" });
    const third = await putOne(saver, thread, {
      parent: idOf(second),
      values: { a: "v3" },
      versions: { a: 3, b: 2 },
      newVersions: { a: 3 },
    });
    assert.deepEqual((await mustGet(saver, third)).checkpoint.channel_values, { a: "v3" });
  },

  /** In Python the run id comes back in the metadata. In LangGraph.js it must not, or a new turn would look like a resume. */
  put_accepts_run_id: async ({ saver }) => {
    const thread = newThread();
    const metadata = { source: "loop", step: 7, run_id: newThread() };
    const stored = await putOne(saver, thread, { metadata, values: { k: "v" } });
    const tuple = await mustGet(saver, stored);
    assert.deepEqual([tuple.metadata?.step, tuple.checkpoint.channel_values], [7, { k: "v" }]);
    assert.deepEqual(await listIds(saver, at(thread)), [idOf(stored)]);
  },

  /** For LangGraph.js: with durability "exit", a run without progress puts its checkpoint again, with itself as the parent. */
  put_again_keeps_values: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread, { values: { old: "from first" } });
    const checkpoint = makeCheckpoint({
      channel_values: { old: "from first", k: "v" },
      channel_versions: { old: 1, k: 1 },
    });
    const stored = await saver.put(first, checkpoint, makeMetadata({ step: 1 }), { k: 1 });
    await mustGet(saver, at(thread));
    await saver.put(stored, checkpoint, makeMetadata({ step: 2 }), {});
    assert.deepEqual(await listIds(saver, at(thread)), [checkpoint.id, idOf(first)]);
    const tuple = await mustGet(saver, at(thread));
    assert.deepEqual(tuple.checkpoint, checkpoint);
    assert.equal(tuple.metadata?.step, 2);
  },

  put_again_keeps_its_parent: async ({ saver }) => {
    const thread = newThread();
    const [first, second] = await putLine(saver, thread, 2);
    const { checkpoint } = await mustGet(saver, second ?? {});
    await saver.put(second ?? {}, checkpoint, makeMetadata({ step: 1 }), {});
    assert.equal(idOf((await mustGet(saver, at(thread))).parentConfig), idOf(first));
  },

  /** For LangGraph.js: versions are integers, so two branches have equal versions of different values. */
  put_branches_keep_their_values: async ({ saver, reopen }) => {
    const thread = newThread();
    const base = await putOne(saver, thread, { values: { a: "base", b: "kept" } });
    const branches: [string, string][] = [];
    for (const name of ["left", "right"]) {
      // Reading the base first shows a saver that protects its head that this is a fork and not a lost race.
      await mustGet(saver, at(thread));
      await mustGet(saver, base);
      const next = {
        parent: idOf(base),
        values: { a: name, b: "kept" },
        versions: { a: 2, b: 1 },
        newVersions: { a: 2 },
      };
      branches.push([idOf(await putOne(saver, thread, next)), name]);
    }
    const other = await reopen();
    for (const [id, name] of branches) {
      const tuple = await mustGet(other, at(thread, { id }));
      assert.deepEqual(tuple.checkpoint.channel_values, { a: name, b: "kept" });
      assert.equal(idOf(tuple.parentConfig), idOf(base));
    }
  },

  put_ids_of_any_text: async ({ saver }) => {
    const odd = [`it's "quoted"; drop table x; --`, "emoji 😀 ü", "a/b\\c|d:e*?{}%_", " spaces "];
    const threads = odd.map((text) => `${newThread()} ${text}`);
    for (const thread of threads) {
      await putOne(saver, thread, { ns: "ns 'q' 😀", values: { [thread]: thread } });
    }
    for (const thread of threads) {
      const tuple = await mustGet(saver, at(thread, { ns: "ns 'q' 😀" }));
      assert.deepEqual(tuple.checkpoint.channel_values, { [thread]: thread });
      assert.equal(tuple.config.configurable?.["thread_id"], thread);
    }
  },
});
