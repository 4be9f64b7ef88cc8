import { promote as promoteTo } from "@stratigraph/branch";
import { resolvePoint } from "../table/address.ts";
import { z } from "zod";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { movedHead, renderMovedHead } from "./movedHead.ts";

/** Makes a checkpoint the head. */
export const promote = operation({
  name: "promote",
  group: "change",
  effect: "write",
  summary: "Make a checkpoint the head: the tip of a side branch, or an older one. Nothing is removed.",
  args: ["at"],
  examples: [
    "stratigraph promote ada@lost:1",
    "stratigraph promote ada@head~2",
    "stratigraph promote ada@1ef4f79",
  ],
  input: z.object({ at: fields.at, namespace: fields.namespace, checkpoint: fields.checkpoint }),
  output: movedHead,
  async run(address, context) {
    const saver = await context.saver();
    const { threadId, namespace, checkpointId, from } = await promoteTo(
      saver,
      await resolvePoint(saver, address),
    );
    return {
      thread: threadId,
      namespace,
      head: checkpointId,
      ...(from === undefined ? {} : { before: from }),
    };
  },
  render: renderMovedHead,
});
