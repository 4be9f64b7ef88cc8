import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { fork } from "@stratigraph/branch";
import { advance } from "@stratigraph/branch/internal";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";

/** Two equal threads. The run of the second was stopped while it stores its last checkpoint. */
async function stopped() {
  const door = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(door);
  const { signal, abort } = stoppable();
  const put = async (thread: string, parent?: string): Promise<string> => {
    const id = uuid6(0);
    const at = {
      thread_id: thread,
      checkpoint_ns: "",
      ...(parent === undefined ? {} : { checkpoint_id: parent }),
    };
    const config = { configurable: at, ...(parent === undefined ? {} : { signal }) };
    await saver.put(config, { ...emptyCheckpoint(), id }, { source: "loop", step: 0, parents: {} }, {});
    return id;
  };
  const first = await put("t");
  await fork(saver, "t", { to: "second" });
  const hold = door.hold("append");
  const last = put("second", first);
  await hold.reached;
  abort();
  return { saver, hold, last };
}

function stoppable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test("a fork right after a run was stopped has all that the run stored", async () => {
  const { saver, hold, last } = await stopped();
  const forking = fork(saver, "second");
  hold.release();
  expect((await saver.getTuple((await forking).config))?.checkpoint.id).toBe(await last);
});

test("a thread that follows another right after a run was stopped gets all that the run stored", async () => {
  const { saver, hold, last } = await stopped();
  const advancing = advance(saver, "t", "second");
  hold.release();
  expect((await advancing).checkpointId).toBe(await last);
});
