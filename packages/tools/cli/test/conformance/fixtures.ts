import {
  completable,
  createRequestStateCodec,
  fromJsonSchema,
  McpServer,
  ResourceTemplate,
  type CallToolResult,
  type McpRequestContext,
  type ServerContext,
  type ServerNotifier,
} from "@modelcontextprotocol/server";
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { registerAsking } from "./asking.ts";

/** A gray pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
/** A sound of no length. */
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const image = { type: "image", data: png, mimeType: "image/png" } as const;

/** The tool whose schema must arrive as it is: the suite compares it word for word. */
const schema2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
} as const;

/**
 * The tools, resources and prompts that the conformance suite asks a server for. Their names and answers are in the descriptions of its
 * scenarios.
 * @param changed tells listening clients that a list has changed
 */
export function fixtures(changed: () => ServerNotifier): (context: McpRequestContext) => McpServer {
  // One key for all requests: each has a server of its own.
  const states = createRequestStateCodec<string>({ key: randomBytes(32) });
  return ({ era }) => {
    const server = new McpServer(
      { name: "stratigraph-fixtures", version: "1.0.0" },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          // Over HTTP, clients of 2025-11-25 have no stream that updates could come by.
          resources: { listChanged: true, subscribe: era === "modern" },
          completions: {},
          logging: {},
        },
        requestState: { verify: states.verify },
      },
    );
    registerAnswering(server);
    registerNotifying(server, changed);
    registerAsking(server, states);
    registerResources(server);
    registerPrompts(server);
    return server;
  };
}

/** Tools that answer with each kind of content. */
function registerAnswering(server: McpServer): void {
  const answer = (name: string, ...content: CallToolResult["content"]): void => {
    server.registerTool(name, { description: `Answers: ${name}` }, () => ({ content }));
  };
  answer("test_simple_text", { type: "text", text: "This is a simple text response for testing." });
  answer("test_image_content", image);
  answer("test_audio_content", { type: "audio", data: wav, mimeType: "audio/wav" });
  answer("test_embedded_resource", {
    type: "resource",
    resource: {
      uri: "test://embedded-resource",
      mimeType: "text/plain",
      text: "This is an embedded resource content.",
    },
  });
  answer("test_multiple_content_types", { type: "text", text: "Multiple content types test:" }, image, {
    type: "resource",
    resource: {
      uri: "test://mixed-content-resource",
      mimeType: "application/json",
      text: JSON.stringify({ test: "data", value: 123 }),
    },
  });
  server.registerTool("test_error_handling", { description: "Fails" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has a schema of JSON Schema 2020-12", inputSchema: fromJsonSchema(schema2020) },
    () => ({ content: [{ type: "text", text: "It fits." }] }),
  );
  server.registerTool(
    "test_headers",
    {
      description: "Has an argument that is sent as a header, too",
      inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
    },
    () => ({ content: [{ type: "text", text: "The header fits." }] }),
  );
}

/** Tools that send notifications. */
function registerNotifying(server: McpServer, changed: () => ServerNotifier): void {
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports its progress" },
    async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken !== undefined)
        for (const progress of [0, 50, 100])
          await mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total: 100 },
          });
      return { content: [{ type: "text", text: "Done." }] };
    },
  );
  const log = async ({ mcpReq }: ServerContext): Promise<CallToolResult> => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"])
      await mcpReq.log("info", line);
    return { content: [{ type: "text", text: "Done." }] };
  };
  server.registerTool("test_tool_with_logging", { description: "Sends log messages" }, log);
  server.registerTool("test_logging_tool", { description: "Sends log messages to those who want them" }, log);
  server.registerTool("test_trigger_tool_change", { description: "Changes the list of tools" }, () => {
    changed().toolsChanged();
    return { content: [] };
  });
  server.registerTool("test_trigger_prompt_change", { description: "Changes the list of prompts" }, () => {
    changed().promptsChanged();
    return { content: [] };
  });
}

function registerResources(server: McpServer): void {
  const text = "This is the content of the static text resource.";
  server.registerResource(
    "static-text",
    "test://static-text",
    { description: "Text", mimeType: "text/plain" },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text }] }),
  );
  server.registerResource(
    "static-binary",
    "test://static-binary",
    { description: "A picture", mimeType: "image/png" },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: "image/png", blob: png }] }),
  );
  server.registerResource(
    "watched",
    "test://watched-resource",
    { description: "Text that is watched", mimeType: "text/plain" },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "watched" }] }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data by id", mimeType: "application/json" },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}

function registerPrompts(server: McpServer): void {
  const says = (text: string) => ({ role: "user", content: { type: "text", text } }) as const;
  server.registerPrompt("test_simple_prompt", { description: "A text" }, () => ({
    messages: [says("This is a simple prompt for testing.")],
  }));
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "A text with two arguments",
      argsSchema: z.object({ arg1: completable(z.string(), () => ["test1", "test2"]), arg2: z.string() }),
    },
    ({ arg1, arg2 }) => ({ messages: [says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        {
          role: "user",
          content: {
            type: "resource",
            resource: { uri, mimeType: "text/plain", text: "Embedded resource content for testing." },
          },
        },
        says("Please process the embedded resource above."),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "A picture" }, () => ({
    messages: [{ role: "user", content: image }, says("Please analyze the image above.")],
  }));
}
