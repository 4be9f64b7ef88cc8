import { z } from "zod";
import { shown } from "../render/columns.ts";
import { commandText } from "../render/commandText.ts";

/** A head that was moved, as output. */
export const movedHead = z.object({
  thread: z.string(),
  namespace: z.string(),
  head: z.string().describe("The head now."),
  before: z.string().optional().describe("The head before; absent where there was none."),
});

/** A head that was moved, for people. */
export function* renderMovedHead({
  thread,
  namespace,
  head,
  before,
}: z.output<typeof movedHead>): Iterable<string> {
  const where = namespace === "" ? shown(thread) : `${shown(thread)}, namespace ${shown(namespace)}`;
  if (before === head) {
    yield `${where}: ${shown(head)} is the head already.`;
    return;
  }
  yield `${where}: the head is ${shown(head)}${before === undefined ? "" : `, it was ${shown(before)}`}.`;
  if (before !== undefined) yield `To take it back: ${commandText("undo", [thread])}`;
}
