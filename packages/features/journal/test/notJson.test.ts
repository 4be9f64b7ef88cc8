import type { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createJournal } from "../src/index.ts";
import { agentOf, asks, call, receipts, says } from "./support/effects.ts";

// Arguments that aren't JSON are refused to the model that gave them, as arguments that don't fit a tool's schema are.

const config = { configurable: { thread_id: "ada" } };
const begins = { messages: [{ role: "user", content: "post" }] };
const { args: half } = JSON.parse('{"args":{"text":"\\ud83c"}}') as { args: Record<string, unknown> };

const wrong: [string, Record<string, unknown>, string][] = [
  ["half an emoji", half, "found a lone surrogate at $.text"],
  ["half an emoji in a name", { text: { "\ud83c": 1 } }, "found a lone surrogate in a name at $.text"],
  ["1e999", JSON.parse('{"text":1e999}') as { text: number }, "found Infinity at $.text"],
  ["a date", { text: new Date(0) }, "found an object of class Date at $.text"],
  ["a bigint", { text: [1n] }, "found a bigint at $.text[0]"],
];

function poster(effects: "none" | "once", script: Parameters<typeof agentOf>[2]) {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const posted: unknown[] = [];
  const post = tool(
    async ({ text }) => {
      posted.push(text);
      return `posted ${String(text)}`;
    },
    { name: "post", description: "posts", schema: z.object({ text: z.any() }) },
  );
  const tools = journal.tools([post], { post: effects });
  return { ...agentOf(journal, tools, script, saver), posted, journal, saver, tools };
}

describe.each(["none", "once"] as const)("of a tool with the effects %s", (effects) => {
  it.each(wrong)("%s: the model is told what is wrong, and goes on", async (_name, args, found) => {
    const { graph, posted, journal } = poster(effects, (turn) => {
      // It repeats itself, as a model at temperature 0 does.
      if (turn < 2) return asks(call("post", args), call("post", { text: `fine ${turn}` }));
      return turn === 2 ? asks(call("post", { text: "right" })) : says("done");
    });
    const { messages } = await graph.invoke(begins, config);
    const told = expect.stringContaining(found) as string;
    expect(receipts(messages)).toEqual([told, "posted fine 0", told, "posted fine 1", "posted right"]);
    const answers = messages.filter((message) => message.getType() === "tool") as ToolMessage[];
    expect(answers.map(({ status }) => status === "error")).toEqual([true, false, true, false, false]);
    expect(posted).toEqual(["fine 0", "fine 1", "right"]);
    expect(await journal.calls("ada")).toHaveLength(3);
    // Nothing runs again in the same place.
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes("tools")) await graph.invoke(null, state.config);
    expect(new Set(posted)).toEqual(new Set(["fine 0", "fine 1", "right"]));
    if (effects === "once") expect(posted).toHaveLength(3);
  });
});

it("code that makes the call gets an error", async () => {
  const { journal, tools } = poster("once", () => says("done"));
  const fault = { code: "SERIALIZATION", data: { path: "$.text" } };
  await expect(journal.run(config, { id: "post", args: half }, () => 1)).rejects.toMatchObject(fault);
  await expect(tools[0]!.invoke(half as { text: string }, config)).rejects.toMatchObject(fault);
});
