import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { MemorySaver } from "@stratigraph/core";
import { createWorkspace } from "@stratigraph/workspace";
import { createPrompts, type Prompts } from "@stratigraph/workspace/prompts";
import { expect, test } from "vitest";
import { addPromptVersions } from "../../src/mcp/promptVersions.ts";
import { hostileId } from "../operations/support/ran.ts";

function opened(): Prompts {
  return createPrompts(createWorkspace(new MemorySaver(), "team"));
}

/** A client of a server that has a prompt of its own, "why", and those of the workspace. */
async function clientOf(prompts: Prompts): Promise<Client> {
  const server = new McpServer({ name: "prompts", version: "1.0.0" });
  server.registerPrompt("why", {}, () => ({ messages: [] }));
  await addPromptVersions(server, prompts);
  const client = new Client({ name: "test", version: "1.0.0" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  await client.connect(ours);
  return client;
}

test("current versions are MCP prompts, with their variables as arguments", async () => {
  const prompts = opened();
  await prompts.add("answer", { template: "Answer {question}." });
  await prompts.add("answer", { template: "Answer {question} in {words} words.", feedback: ["too long"] });
  await prompts.add(hostileId, {
    template: [
      { role: "system", content: "Be {style}." },
      { role: "assistant", content: "{{}}" },
    ],
  });
  await prompts.add("why", { template: "Why?" });
  const before = await clientOf(prompts);
  await prompts.promote("answer", "2");
  const client = await clientOf(prompts);
  expect((await client.listPrompts()).prompts).toMatchObject([
    { name: "why" },
    { name: hostileId, arguments: [{ name: "style", required: true }] },
    {
      name: "answer",
      description: "Version 2. It takes up: too long",
      arguments: [{ name: "question", required: true }, { name: "words" }],
    },
    { name: "workspace/why" },
  ]);
  const args = { question: "why", words: "7" };
  expect(await client.getPrompt({ name: "answer", arguments: args })).toMatchObject({
    messages: [{ role: "user", content: { type: "text", text: "Answer why in 7 words." } }],
    _meta: {
      "dev.stratigraph/version": "2",
      "dev.stratigraph/metadata": { "stratigraph:prompt:answer": "2" },
    },
  });
  expect((await client.getPrompt({ name: hostileId, arguments: { style: "brief" } })).messages).toEqual([
    { role: "user", content: { type: "text", text: "Be brief." } },
    { role: "assistant", content: { type: "text", text: "{}" } },
  ]);
  // A client that was there before gets the current text. What it lacks is said by name.
  const late = before.getPrompt({ name: "answer", arguments: { question: "why" } });
  await expect(late).rejects.toThrow("variables.words");
  await expect(client.getPrompt({ name: "answer", arguments: {} })).rejects.toThrow("question");
  await expect(client.getPrompt({ name: "unknown" })).rejects.toThrow("unknown");
});

test("what is wrong inside of the server isn't told", async () => {
  const prompts = opened();
  await prompts.add("answer", { template: "Answer." });
  const client = await clientOf(prompts);
  prompts.get = () => Promise.reject(new Error("connect ECONNREFUSED user:secret@db"));
  await expect(client.getPrompt({ name: "answer" })).rejects.toThrow("The prompt can't be read.");
});
