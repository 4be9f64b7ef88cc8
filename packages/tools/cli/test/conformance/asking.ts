import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequest,
  type InputRequests,
  type InputRequiredResult,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

type RequestedSchema = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];
type Answer = CallToolResult | InputRequiredResult;

const said = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

/** Asks a person for one value. */
const askFor = (message: string, name: string, schema: z.ZodType = z.string()): InputRequest =>
  inputRequired.elicit({ message, requestedSchema: z.object({ [name]: schema }) });

/** Asks the client's model. */
const askModel = (text: string): InputRequest =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text } }],
    maxTokens: 100,
  });

/** Fixtures that ask the client, its person or its model, and go on when the request comes again with the answers. */
export function registerAsking(server: McpServer, states: RequestStateCodec<string>): void {
  const tool = (name: string, answer: (context: ServerContext) => Answer | Promise<Answer>): void => {
    server.registerTool(name, { description: `Asks: ${name}` }, answer);
  };
  /** Asks until an answer for each key is there. */
  const asking = (name: string, requests: () => InputRequests, done: (context: ServerContext) => string) =>
    tool(name, (context) => {
      const inputRequests = requests();
      const { inputResponses } = context.mcpReq;
      const isMissing = (key: string): boolean => inputResponse(inputResponses, key).kind === "missing";
      return Object.keys(inputRequests).some(isMissing)
        ? inputRequired({ inputRequests })
        : said(done(context));
    });
  /** The same, with a state of the server that the client sends back. */
  const remembering = (name: string, inputRequests: InputRequests) =>
    tool(name, async ({ mcpReq }) =>
      mcpReq.requestState<string>() === name
        ? said("state-ok")
        : inputRequired({ inputRequests, requestState: await states.mint(name) }),
    );

  tool("test_input_required_result_elicitation", ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
    return given === undefined
      ? inputRequired({ inputRequests: { user_name: askFor("What is your name?", "name") } })
      : said(`Hello, ${given.name}!`);
  });
  asking(
    "test_input_required_result_sampling",
    () => ({ capital_question: askModel("What is the capital of France?") }),
    ({ mcpReq }) => JSON.stringify(mcpReq.inputResponses?.["capital_question"]),
  );
  asking(
    "test_input_required_result_list_roots",
    () => ({ client_roots: inputRequired.listRoots() }),
    ({ mcpReq }) => JSON.stringify(mcpReq.inputResponses?.["client_roots"]),
  );
  remembering("test_input_required_result_request_state", {
    confirm: askFor("Please confirm", "ok", z.boolean()),
  });
  remembering("test_input_required_result_tampered_state", {
    confirm: askFor("Please confirm", "ok", z.boolean()),
  });
  remembering("test_input_required_result_multiple_inputs", {
    user_name: askFor("What is your name?", "name"),
    greeting: askModel("Generate a greeting"),
    client_roots: inputRequired.listRoots(),
  });
  tool("test_input_required_result_multi_round", async ({ mcpReq }) => {
    const state = mcpReq.requestState<string>();
    if (state === "round 2") return said("Both are known.");
    const next = state === undefined ? "round 1" : "round 2";
    const inputRequests: InputRequests =
      next === "round 1"
        ? { step1: askFor("Step 1: What is your name?", "name") }
        : { step2: askFor("Step 2: What is your favorite color?", "color") };
    return inputRequired({ inputRequests, requestState: await states.mint(next) });
  });
  tool("test_input_required_result_capabilities", ({ mcpReq }) => {
    const envelope = mcpReq.envelope as Partial<Record<string, ClientCapabilities>> | undefined;
    const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    const inputRequests: InputRequests = {
      ...(capabilities?.sampling && { model: askModel("What is the capital of France?") }),
      ...(capabilities?.elicitation && { person: askFor("What is your name?", "name") }),
    };
    return inputRequired({ inputRequests });
  });
  asking(
    "test_missing_capability",
    () => ({ model: askModel("What is the capital of France?") }),
    () => "Done.",
  );
  asking(
    "test_streaming_elicitation",
    () => ({ user_name: askFor("What is your name?", "name") }),
    () => "Done.",
  );
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks first" }, ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_context", z.object({ context: z.string() }));
    if (given === undefined)
      return inputRequired({
        inputRequests: { user_context: askFor("What context should the prompt use?", "context") },
      });
    return { messages: [{ role: "user", content: { type: "text", text: given.context } }] };
  });
  registerForms(server);
}

/** Forms of the suite for 2025-11-25, in the words of its scenarios. */
const forms: Readonly<Record<string, RequestedSchema>> = {
  test_elicitation: {
    type: "object",
    properties: { username: { type: "string" }, email: { type: "string" } },
    required: ["username", "email"],
  },
  test_elicitation_sep1034_defaults: {
    type: "object",
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
  },
  test_elicitation_sep1330_enums: {
    type: "object",
    properties: {
      untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
      titledSingle: { type: "string", oneOf: titled("value", "Option") },
      legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
      untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
      titledMulti: { type: "array", items: { anyOf: titled("value", "Choice") } },
    },
  },
};

function titled(value: string, title: string): { const: string; title: string }[] {
  return ["1", "2", "3"].map((number) => ({ const: `${value}${number}`, title: `${title} ${number}` }));
}

/** Tools that ask in the midst of a call, as the suite for 2025-11-25 wants it. */
function registerForms(server: McpServer): void {
  for (const [name, requestedSchema] of Object.entries(forms))
    server.registerTool(name, { description: `Shows a form: ${name}` }, ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, "form");
      return answer.kind === "missing"
        ? inputRequired({ inputRequests: { form: inputRequired.elicit({ message: name, requestedSchema }) } })
        : said(JSON.stringify(answer));
    });
  server.registerTool(
    "test_sampling",
    { description: "Asks the model", inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, "model");
      return answer.kind === "missing"
        ? inputRequired({ inputRequests: { model: askModel(prompt) } })
        : said(JSON.stringify(answer));
    },
  );
}
