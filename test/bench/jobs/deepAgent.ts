import { HumanMessage } from "@langchain/core/messages";
import { createDeepAgent } from "deepagents";
import { asks, inTurn, ScriptedModel } from "../../family/scripted.ts";
import { Book } from "../../family/world.ts";
import { randomNumbers } from "../randomNumbers.ts";
import { openSaver, type Place, SAVERS } from "../savers.ts";
import { type StoredBytes, storedBytes } from "../storedBytes.ts";
import type { SaverId } from "../types.ts";

/** Input of the job. */
export interface DeepAgentInput extends Place {
  saver: SaverId;
  files: number;
  /** How often each file is edited. */
  edits: number;
}

/** Sizes in bytes. */
export interface DeepAgentResult {
  checkpoints: number;
  files: number;
  ms: number;
  /** Undefined where the saver keeps nothing in PostgreSQL. */
  stored: StoredBytes | undefined;
}

const lines = 60;

/** An agent of deepagents writes files, one per step, and edits them one after another. They are in its state, and so in each checkpoint. */
export async function job({ saver: id, files, edits, ...place }: DeepAgentInput): Promise<DeepAgentResult> {
  const random = randomNumbers(7);
  const word = (): string => Math.floor(random() * 4000).toString(36);
  const line = (n: number): string => `${n}: ${Array.from({ length: 10 }, word).join(" ")}`;
  const paths = Array.from({ length: files }, (_, n) => `/notes/${n}.md`);
  const contents = paths.map(() => Array.from({ length: lines }, (_, n) => line(n)));
  const writes = paths.map(
    (file_path, n) => () =>
      asks(["write_file", { file_path, content: contents[n]!.join("\n") }, `write-${n}`]),
  );
  const changes = Array.from({ length: edits * files }, (_, n) => () => {
    const [file, at] = [n % files, Math.floor(n / files) * 7];
    const edit = {
      file_path: paths[file],
      old_string: contents[file]![at],
      new_string: `${at}: edited ${n}`,
    };
    return asks(["edit_file", edit, `edit-${n}`]);
  });
  const { saver, close } = await openSaver(id, place);
  const world = { reached: async () => undefined, book: new Book() };
  const agent = createDeepAgent({
    model: new ScriptedModel(world, inTurn(...writes, ...changes)) as never,
    checkpointer: saver as never,
  });
  const config = { configurable: { thread_id: "deep" }, durability: "sync" as const, recursionLimit: 10_000 };
  const begun = performance.now();
  const state = await agent.invoke({ messages: [new HumanMessage("Write")] }, config);
  const ms = performance.now() - begun;
  let checkpoints = 0;
  for await (const _ of saver.list({ configurable: { thread_id: "deep" } })) checkpoints += 1;
  const stored = SAVERS[id].postgres ? await storedBytes(place.url, place.schema) : undefined;
  await close();
  return { checkpoints, files: JSON.stringify(state.files).length, ms, stored };
}
