import assert from "node:assert/strict";
import { subscribe } from "node:diagnostics_channel";
import { createRequire } from "node:module";
import { AIMessage } from "@langchain/core/messages";
import * as modules from "stratigraph";

// Both builds in one process: an application of ES modules beside a dependency that requires Stratigraph.
const require = createRequire(import.meta.url);
const commonjs = require("stratigraph");
const RequiredAIMessage = require("@langchain/core/messages").AIMessage;
assert.notEqual(modules.MemoryTier, commonjs.MemoryTier, "there are two builds");
assert.notEqual(AIMessage, RequiredAIMessage, "LangChain has two as well");

const error = await commonjs.createCheckpointer({ memory: 1 }).catch((thrown) => thrown);
assert.ok(
  !(error instanceof modules.StratigraphError) && modules.StratigraphError.is(error, "INVALID_OPTION"),
);

const config = { configurable: { thread_id: "ada", checkpoint_ns: "" } };
const checkpoint = (id, message) => ({
  v: 4,
  id,
  ts: new Date().toISOString(),
  channel_values: { message },
  channel_versions: { message: id },
  versions_seen: {},
});
const metadata = { source: "input", step: -1, parents: {} };

// What one build stored the other reads, as its own application's classes.
const tier = new modules.MemoryTier();
const writer = new modules.TierSaver(tier);
const reader = new commonjs.TierSaver(tier);
const first = checkpoint("1ef4f797-8335-6428-8001-8a1503f9b875", new AIMessage("Hello."));
const written = await writer.put(config, first, metadata, { message: first.id });
const { message } = (await reader.getTuple(config)).checkpoint.channel_values;
assert.ok(message instanceof RequiredAIMessage && message.content === "Hello.");

// Each race is decided in the tier, and the error is known to the other build. Events go to a channel known by name.
const second = checkpoint("1ef4f797-8335-6429-8001-8a1503f9b875", new AIMessage("One."));
const third = checkpoint("1ef4f797-8335-642a-8001-8a1503f9b875", new RequiredAIMessage("Two."));
await writer.put(written, second, metadata, { message: second.id });
const events = [];
subscribe("stratigraph", (event) => events.push(event.type));
const lost = await reader.put(written, third, metadata, { message: third.id }).catch((thrown) => thrown);
assert.ok(modules.StratigraphError.is(lost, "CHECKPOINT_CONFLICT"), String(lost));
const conflicts = events.filter((type) => type === "conflict");
assert.deepEqual(conflicts, ["conflict"], "the event of the CommonJS build is heard on the channel");

// A tier made by one build is taken by the savers of the other.
const pool = { query: async () => ({ rows: [] }), end: async () => undefined, on: () => undefined };
const postgres = modules.postgres({ pool });
assert.equal(new commonjs.PostgresSaver(postgres).tier, postgres);
const folder = modules.folder({ path: ".both" });
assert.equal(new commonjs.S3Saver(folder).tier, folder);
console.log("both builds in one process agree");
