import { StratigraphError } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { withThread } from "@stratigraph/service";
import { configOf, nextOf } from "./checkpoints.ts";

// Takes the lock of thread "t", reads the thread, tells so, and waits. Told to go on, it puts a checkpoint on what it read.

const [url = ""] = process.argv.slice(2);
const saver = PostgresSaver.fromConnString(url);

export type LockMessage =
  | { readonly type: "held"; readonly token: number }
  | { readonly type: "put"; readonly outcome: string; readonly lost: boolean };

const send = (message: LockMessage): Promise<void> =>
  new Promise((resolve) => void process.send?.(message, undefined, undefined, () => resolve()));

await withThread(
  saver,
  "t",
  async ({ token, signal }) => {
    const tuple = await saver.getTuple(configOf("t"));
    const told = new Promise((resolve) => process.once("message", resolve));
    await send({ type: "held", token });
    await told;
    const { config, checkpoint, metadata } = nextOf(tuple, "of the one that was suspended");
    const outcome = await saver
      .put(config, checkpoint, metadata, { value: checkpoint.channel_versions["value"]! })
      .then(
        () => "stored",
        (error: unknown) => (StratigraphError.is(error) ? error.code : String(error)),
      );
    await send({ type: "put", outcome, lost: signal.aborted });
  },
  { leaseFor: "3s", by: "the child" },
);
await saver.end();
process.disconnect();
