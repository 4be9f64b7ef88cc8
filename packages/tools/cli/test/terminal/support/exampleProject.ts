import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { createWorkspace } from "@stratigraph/workspace";
import { createPrompts } from "@stratigraph/workspace/prompts";
import { fork, TieredSaver, type CheckpointerConfig } from "stratigraph";
import { folder } from "@stratigraph/s3";

/** A folder with a config whose storages have all that the examples of the operations name. */
export interface ExampleProject {
  readonly folder: string;
  /** What the config says, to open the same storages beside. */
  readonly config: CheckpointerConfig;
  /** The fingerprint of a call of the thread ada of which nobody knows whether it happened. */
  readonly call: string;
  remove(): Promise<void>;
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  title: Annotation<string>(),
  topic: Annotation<string>(),
  budget: Annotation<number>(),
  facts: Annotation<Record<string, unknown>>(),
});

const builder = new StateGraph(State)
  .addNode("agent", ({ messages }) => ({
    messages: [
      new AIMessage({ id: `msg-${messages.length}`, content: `Message ${messages.length} was read.` }),
    ],
    facts: { city: messages.length > 4 ? "Rome" : "Bern" },
  }))
  .addEdge(START, "agent");

/** A memory that outlives the savers over it: a command opens the storages and closes them again. */
class LastingMemory extends MemoryTier {
  override async end(): Promise<void> {}
}

/** Makes such a project. Its config is a module, as it has objects in it. */
export async function exampleProject(
  options: { readonly encrypted?: boolean } = {},
): Promise<ExampleProject> {
  const path = await mkdtemp(join(tmpdir(), "stratigraph-examples-"));
  const tier = new LastingMemory();
  const archive = join(path, "archive");
  // Threads are written without a key, as before encryption was switched on.
  const encryption = {
    keys: { "2026": new Uint8Array(32).fill(1) },
    activeKey: "2026",
    hashKey: new Uint8Array(32).fill(2),
  };
  const config: CheckpointerConfig = {
    warm: tier,
    cold: `file:${archive}`,
    threadTags: ["user", "team"],
    ...(options.encrypted === true ? { encryption } : {}),
  };
  const shared = { config, graph: builder.compile() };
  const key = `stratigraph example ${path}`;
  (globalThis as Record<string, unknown>)[key] = shared;
  await writeFile(
    join(path, "stratigraph.config.mjs"),
    `const { config } = globalThis[${JSON.stringify(key)}];\nexport default { checkpointer: config, graphs: { agent: "./graph.mjs:graph" }, environments: { production: { checkpointer: "file:./production" } } };\n`,
  );
  await writeFile(join(path, "graph.mjs"), `export const { graph } = globalThis[${JSON.stringify(key)}];\n`);
  await writeFile(join(path, "title.json"), '"Trip to Rome"');
  const saver = new TieredSaver({
    warm: tier,
    cold: folder({ path: archive }),
    threadTags: ["user", "team"],
  });
  await saver.setup();
  await makeThreads(saver, tier);
  const trip = createWorkspace(new TierSaver(tier), "trip", { agent: "planner" });
  for (const city of ["Bern", "Rome"]) await trip.put(["plan"], "days", { days: [{ city }] });
  await trip.put(["plan"], "budget", { euro: 900 }, { reason: "the user asked" });
  await createPrompts(trip).add("answer", { template: "Answer {question}." });
  const call = await payUnluckily(saver);
  return {
    folder: path,
    config,
    call,
    remove: async () => {
      delete (globalThis as Record<string, unknown>)[key];
      await rm(path, { recursive: true });
    },
  };
}

async function makeThreads(saver: TieredSaver, tier: MemoryTier): Promise<void> {
  const graph = builder.compile({ checkpointer: saver });
  const tags: Record<string, object> = { ada: { user: "anna" }, bob: { team: "sales" } };
  const on = (thread: string) => ({
    configurable: { thread_id: thread, ...tags[thread] },
    durability: "sync" as const,
  });
  await putFirst(saver, "ada");
  await putFirst(saver, "ada", "researcher:0d9b3e0e-6f5c-5b0e-9a51-2f0c7c1f8f11");
  const say = async (thread: string, values: object = {}) => {
    await graph.invoke({ messages: [{ role: "user", content: "Hello" }], ...values }, on(thread));
  };
  await say("ada", { title: "A trip", topic: "where", budget: 7 });
  for (let turn = 0; turn < 3; turn++) await say("ada");
  for (const thread of ["bob", "trip/rail", "trip/air"]) await say(thread);
  for (const to of ["ada-2", "ada/what-if-1"]) await fork(saver, "ada", { to });
  await say("ada-2", { topic: "when", budget: 9 });
  const late = new TierSaver(tier, { conflict: "branch" });
  const before = await late.getTuple(on("ada"));
  await say("ada", { topic: "who", budget: 8 });
  await putOn(late, before!.config, { ...before!.checkpoint, id: "ffffffff-0000-6000-8000-000000000000" });
}

/** A payment whose outcome nobody knows. Returns its fingerprint. */
async function payUnluckily(saver: TieredSaver): Promise<string> {
  const journal = createJournal(saver);
  const pay = { id: "pay", args: { amount: 5 } };
  const cut = (): never => {
    throw new Error("the line was cut");
  };
  await journal.run({ configurable: { thread_id: "ada" } }, pay, cut).catch(() => undefined);
  const [call] = await journal.calls("ada");
  await journal.end();
  return call!.fingerprint;
}

/** The oldest checkpoint of a namespace, with an id that an example names by its beginning. */
async function putFirst(saver: TieredSaver, thread: string, namespace = ""): Promise<void> {
  const config = { configurable: { thread_id: thread, checkpoint_ns: namespace } };
  const first = {
    v: 4,
    ts: new Date().toISOString(),
    channel_values: {},
    channel_versions: {},
    versions_seen: {},
  };
  await putOn(saver, config, { ...first, id: "1ef4f79a-0000-6000-8000-000000000000" });
}

async function putOn(saver: TierSaver, config: object, checkpoint: Checkpoint): Promise<void> {
  await saver.put(config, checkpoint, { source: "loop", step: -2, parents: {} }, checkpoint.channel_versions);
}
