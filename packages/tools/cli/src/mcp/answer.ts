import {
  inputRequired,
  inputResponse,
  type CallToolResult,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { NotFoundError, StratigraphError } from "@stratigraph/core";
import { createHash } from "node:crypto";
import { canElicit } from "@stratigraph/journal/internal";
import { z } from "zod";
import type { Context, OutputOf } from "../operations/index.ts";
import { answerForm, answerFrom, firstTexts, type FormField } from "../operations/run/answerForm.ts";
import { checkedInput } from "../operations/table/runOperation.ts";
import type { ToolHost } from "./calls.ts";
import { callTool } from "./callTool.ts";
import { runNamed } from "./runNamed.ts";
import { described } from "./results.ts";

const input = z.strictObject({
  thread: z.string().min(1).describe("The id of the thread that waits."),
  call: z
    .string()
    .min(6)
    .optional()
    .describe(
      "Which of its open questions: the beginning of the call's fingerprint, or the id of the interrupt. Default: the only one.",
    ),
});

const output = z.object({
  thread: z.string(),
  question: z.string().describe("The call's fingerprint, or the id of the interrupt."),
  kind: z.enum(["ambiguous", "approval", "interrupt"]),
  answered: z.boolean().describe("False: the person declined to answer."),
  outcome: z
    .string()
    .optional()
    .describe("What became of the run that the answer continued, as the tool run tells it."),
  head: z.string().optional(),
  next: z.array(z.string()).optional().describe("The nodes that are due now."),
});

type Answered = z.output<typeof output>;

/** A question, and what becomes of its answer. */
interface Open {
  readonly id: string;
  readonly kind: Answered["kind"];
  readonly message: string;
  readonly form: ElicitRequestFormParams["requestedSchema"];
  take(given: Readonly<Record<string, unknown>>): Promise<Pick<Answered, "outcome" | "head" | "next">>;
}

/** How many characters of a question a form shows. */
const longestQuestion = 4000;

const text = (title: string, description: string) => ({ type: "string" as const, title, description });

const author = text("Your name", "Who answers, for the trail.");

/** Offers the tool by which a person is asked. The answer goes from the person to the thread: no model sees it, and none can make one up. */
export function addAnswer(server: McpServer, host: ToolHost): void {
  server.registerTool(
    "answer",
    {
      title: "Answer",
      description:
        "Have the person at this client answer a question that a thread waits for, and continue it. You neither give nor see the answer.",
      inputSchema: described(z.toJSONSchema(input, { io: "input" })),
      outputSchema: described(z.toJSONSchema(output, { io: "output" })),
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: true,
      },
    },
    async (given, ctx) =>
      await callTool(host, "answer", given, ctx, async (context) => {
        const { thread, call } = checkedInput({ name: "answer", input }, given);
        const question = oneOf(await openOf(context, thread), thread, call);
        return await asked(server, ctx, thread, question);
      }),
  );
}

async function asked(
  server: McpServer,
  ctx: ServerContext,
  thread: string,
  { id, kind, message, form, take }: Open,
): Promise<{ result: CallToolResult | InputRequiredResult; outcome: string }> {
  // By the question, so that an answer to another one is never taken for one to this. Before LangGraph 1.7 all questions of a node have one id.
  const key = `answer ${id} ${createHash("sha256").update(message).digest("hex").slice(0, 16)}`;
  const response = inputResponse(ctx.mcpReq.inputResponses, key);
  if (response.kind !== "elicit") {
    refuseWithoutForms(server, ctx);
    const inputRequests = { [key]: inputRequired.elicit({ mode: "form", message, requestedSchema: form }) };
    return { result: inputRequired({ inputRequests }), outcome: "asked" };
  }
  const isAnswered = response.action === "accept";
  const done = isAnswered ? await take(response.content ?? {}) : {};
  const told: Answered = { thread, question: id, kind, answered: isAnswered, ...done };
  return {
    result: { content: [{ type: "text", text: JSON.stringify(told) }], structuredContent: told },
    outcome: isAnswered ? "ok" : "declined",
  };
}

/** @throws StratigraphError "NOT_WIRED" if the client can't ask a person */
function refuseWithoutForms(server: McpServer, ctx: ServerContext): void {
  if (canElicit(server, ctx)) return;
  throw new StratigraphError(
    "NOT_WIRED",
    "This client can't ask a person: it doesn't declare elicitation. Answer in a terminal (stratigraph questions, stratigraph answer, stratigraph run --resume), or in the inspector.",
  );
}

function oneOf(open: readonly Open[], thread: string, call: string | undefined): Open {
  const fitting = call === undefined ? open : open.filter(({ id }) => id.startsWith(call));
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  const waiting = open.map(({ id }) => id).join(", ");
  if (only === undefined) {
    const message = `Thread ${JSON.stringify(thread)} waits for no such answer. ${waiting === "" ? "No question is open." : `These are open: ${waiting}.`}`;
    throw new NotFoundError(message, { threadId: thread });
  }
  throw new StratigraphError(
    "INVALID_OPTION",
    `${fitting.length} questions are open: name one in \`call\`. They are ${waiting}.`,
    { field: "call" },
  );
}

async function openOf(context: Context, thread: string): Promise<Open[]> {
  const { items } = await runNamed("questions", { thread }, context);
  const questions = items.filter(({ answered }) => !answered).map((item) => callQuestion(context, item));
  return questions.length > 0 ? questions : await interruptsOf(context, thread);
}

function callQuestion(context: Context, item: OutputOf<"questions">["items"][number]): Open {
  const { thread, call, kind, tool, args, why, happened } = item;
  const shownArgs = args === undefined ? "" : ` ${JSON.stringify(args.value)}`;
  const answers =
    kind === "approval" ? ["allow", "deny"] : happened === true ? ["happened"] : ["happened", "not-happened"];
  const optional =
    kind === "approval"
      ? { reason: text("Why", "The model is told why a call is denied.") }
      : { result: text("Result", 'Of a call that happened: its result, as JSON ("receipt 7" in quotes).') };
  const properties = {
    answer: {
      type: "string" as const,
      title:
        kind === "approval"
          ? "May it run?"
          : happened === true
            ? "It happened: give its result"
            : "Did it happen?",
      enum: answers,
    },
    ...optional,
    author,
  };
  return {
    id: call,
    kind,
    message: `Thread ${thread}: ${tool}${shownArgs}. ${why}`.slice(0, longestQuestion),
    form: { type: "object", properties, required: ["answer", "author"] },
    take: async (given) => {
      const filled = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
      await runNamed("answer", { ...filled, thread, call } as never, context);
      return {};
    },
  };
}

/** The interrupts of a thread's graph. Without a graph in the config, nobody can continue it from here. */
async function interruptsOf(context: Context, thread: string): Promise<Open[]> {
  const { interrupts, head } = await runNamed("run", { at: thread, dryRun: true }, context);
  return interrupts.map(({ id, node, value, schema, schemaFault }) => {
    const fields = schema === undefined ? undefined : answerForm(schema);
    const fault =
      schemaFault === undefined ? "" : ` (Its schema can't be used, ${schemaFault}: any JSON is taken.)`;
    return {
      id,
      kind: "interrupt" as const,
      message: `Thread ${thread}, ${node} asks: ${JSON.stringify(value.value)}${fault}`.slice(
        0,
        longestQuestion,
      ),
      form: fields === undefined ? anyAnswer : formOf(fields),
      take: async (given) => {
        const answer = fields === undefined ? jsonOr(String(given["answer"])) : answerIn(fields, given);
        const at = head === undefined ? { at: thread } : { at: thread, checkpoint: head };
        const done = await runNamed("run", { ...at, resume: JSON.stringify({ [id]: answer }) }, context);
        return {
          outcome: done.outcome,
          next: done.next,
          ...(done.head === undefined ? {} : { head: done.head }),
        };
      },
    };
  });
}

type Form = ElicitRequestFormParams["requestedSchema"];

const anyAnswer: Form = {
  type: "object",
  properties: { answer: text("Answer", "Text, or JSON.") },
  required: ["answer"],
};

/** The name of a field that is the whole answer: a client's form always has names. */
const whole = "answer";

/** A client's form is flat, and knows texts, numbers, yes or no, and choices of texts. All else is a text with JSON in it. */
function formOf(fields: readonly FormField[]): Form {
  const named = fields.map((field) => [field.name === "" ? whole : field.name, propertyOf(field)] as const);
  const required = fields.filter((field) => field.required).map(({ name }) => (name === "" ? whole : name));
  return { type: "object", properties: Object.fromEntries(named), required };
}

function propertyOf({
  kind,
  label: title,
  description,
  rule,
  options,
  initial,
  schema,
}: FormField): Form["properties"][string] {
  const told = [description, rule].filter((part) => part !== undefined && part !== "").join("; ");
  const about = { title, ...(told === "" ? {} : { description: told }) };
  const only = (...names: string[]) =>
    Object.fromEntries(names.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])));
  const ways = options.map(({ value, label }) => ({ const: value, title: label }));
  const first = initial === "" ? {} : { default: initial };
  switch (kind) {
    case "boolean":
      return { type: "boolean", ...about, ...only("default") };
    case "number":
      return {
        type: schema["type"] === "integer" ? "integer" : "number",
        ...about,
        ...only("minimum", "maximum", "default"),
      };
    case "choice":
      return { type: "string", ...about, oneOf: ways, ...first };
    case "choices":
      return { type: "array", ...about, items: { anyOf: ways }, ...only("minItems", "maxItems") };
    case "text": {
      const { format } = schema;
      const known = ["email", "uri", "date", "date-time"].find((each) => each === format);
      return {
        type: "string",
        ...about,
        ...only("minLength", "maxLength"),
        ...(known === undefined ? {} : { format: known as "email" }),
        ...first,
      };
    }
    default:
      return { type: "string", ...about, ...first };
  }
}

/** @throws StratigraphError "INVALID_OPTION", which says what is expected but not what was answered: a model reads it */
function answerIn(fields: readonly FormField[], given: Readonly<Record<string, unknown>>): unknown {
  const texts = fields.map(({ name, kind, required }) => {
    const value = given[name === "" ? whole : name];
    // A client sends an empty text for what was left out.
    if (value === undefined || (value === "" && !required)) return [name, ""] as const;
    return [
      name,
      kind === "choices" && Array.isArray(value) ? `[${value.join(",")}]` : String(value),
    ] as const;
  });
  const made = answerFrom(fields, { ...firstTexts(fields), ...Object.fromEntries(texts) });
  if ("answer" in made) return made.answer;
  const wrong = Object.entries(made.problems).map(([name, problem]) => `${name}: ${problem}`);
  throw new StratigraphError(
    "INVALID_OPTION",
    `Nothing was run: the person's answer doesn't fit the question. ${wrong.join(" ")} Ask once more with this tool.`,
    { field: "answer" },
  );
}

function jsonOr(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}
