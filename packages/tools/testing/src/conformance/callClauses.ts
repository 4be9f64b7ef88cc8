import { messageOf } from "@stratigraph/core/internal";
import { strict as assert } from "node:assert";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { plain } from "../differential/normalise.ts";
import type { Call } from "./calls/call.ts";
import { graphCalls } from "./calls/graphCalls.ts";
import { otherCalls } from "./calls/otherCalls.ts";
import { putCalls } from "./calls/putCalls.ts";
import { readCalls } from "./calls/readCalls.ts";
import { type Clause, clauseGroup } from "./clause.ts";
import { newThread } from "./fixtures.ts";

const calls = { ...putCalls, ...readCalls, ...otherCalls, ...graphCalls };

/** Makes the calls on a saver, and on the official MemorySaver of the installed version if the answers are compared with its answers. */
const runOf =
  ({ from, make, instead }: Call): Clause["run"] =>
  async ({ saver }) => {
    const thread = newThread();
    try {
      const wanted = instead === undefined ? await make(new MemorySaver(), thread) : instead.answer;
      assert.deepEqual(plain(await make(saver, thread)), plain(wanted));
    } catch (error) {
      const message = messageOf(error);
      const places = from.map((place) => `\n- ${place}`).join("");
      throw new Error(`${message}\nThis is called in langgraphjs:${places}`, { cause: error });
    }
  };

/**
 * Calls as LangGraph's code and its own tests make them: with the same omissions and shapes. A saver must accept each call,
 * and answer it as the official MemorySaver does.
 */
export const callClauses = clauseGroup(
  "calls",
  Object.fromEntries(Object.entries(calls).map(([name, call]) => [`calls_${name}`, runOf(call)])),
);
