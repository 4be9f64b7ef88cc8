import { undo as undoLast } from "@stratigraph/branch";
import { z } from "zod";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { movedHead, renderMovedHead } from "./movedHead.ts";

/** Takes back the last move of a head. */
export const undo = operation({
  name: "undo",
  group: "change",
  effect: "write",
  summary: "Take back the last merge, promotion or undo of a thread. Nothing is removed.",
  args: ["thread"],
  examples: ["stratigraph undo ada"],
  input: z.object({ thread: fields.thread }),
  output: movedHead,
  async run({ thread }, context) {
    const { threadId, namespace, checkpointId, from } = await undoLast(await context.saver(), thread);
    return {
      thread: threadId,
      namespace,
      head: checkpointId,
      ...(from === undefined ? {} : { before: from }),
    };
  },
  render: renderMovedHead,
});
