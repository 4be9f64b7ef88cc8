import type { BaseMessage } from "@langchain/core/messages";
import { Command, GraphDrained } from "@langchain/langgraph";
import { createJournal, type Question } from "@stratigraph/journal";
import {
  createService,
  healthHandlers,
  withThread,
  type RenderedMetrics,
  type Service,
  type Telemetry,
} from "@stratigraph/service";
import { Hono, type Context } from "hono";
import { streamSSE } from "hono/streaming";
import { StratigraphError, type TierSaver } from "stratigraph";
import { z } from "zod";
import { createAgent, freeLimit, type PayBack } from "./agent.ts";

/** What an instance of the service is made of. */
export interface AppParts {
  readonly checkpointer: TierSaver;
  readonly telemetry: Telemetry;
  readonly payBack: PayBack;
  readonly metrics: () => Promise<RenderedMetrics>;
  /** Archives and prunes in the background. */
  readonly maintenance?: { stop(): Promise<void> } | undefined;
  /** Takes no more connections. */
  readonly stopListening?: (() => unknown) | undefined;
}

/** The id is the client's own, such as a UUID, and the same whenever it sends this message again. */
const asked = z.object({ id: z.string().regex(/^[\w-]{1,100}$/), text: z.string().min(1).max(10_000) });
/** To a question whether a call may run; or, where an instance died in the middle of one, whether it happened. */
const answered = z.union([
  z.object({ id: z.string(), allow: z.boolean() }),
  z.object({ id: z.string(), happened: z.literal(true), result: z.string() }),
  z.object({ id: z.string(), happened: z.literal(false) }),
]);
/** A user's id is a part of the ids of the user's threads, so that nobody reads another one's. Set by the gateway that knows the user. */
const user = z.string().regex(/^[\w-]{1,100}$/);

/** What a user sees of a thread. */
interface Thread {
  readonly messages: readonly {
    readonly id: string | undefined;
    readonly role: string;
    readonly text: string;
  }[];
  readonly documents: readonly string[];
  readonly questions: readonly Pick<Question, "id" | "kind" | "tool" | "args">[];
  /** A run was cut off, or is under way: POST …/resume goes on with it. */
  readonly unfinished: boolean;
  /** Ids of messages that wait for the thread or are worked on: no need to send these again. Another instance's aren't known. */
  readonly underWay: readonly string[];
}

/** A request that a thread refuses as it is now. */
class Refused extends Error {
  constructor(
    readonly status: 409 | 422,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The HTTP service, and how to shut it down. */
export async function createApp(parts: AppParts): Promise<{ app: Hono; service: Service }> {
  const { checkpointer, telemetry, metrics, maintenance, stopListening } = parts;
  const journal = createJournal(checkpointer, {
    policy: ({ args }) =>
      (args as { amount: number }).amount <= freeLimit || { ask: `More than ${freeLimit} EUR` },
  });
  const agent = (await createAgent(journal, parts.payBack)).withConfig({
    callbacks: [telemetry.callbacks("support")],
  });
  const end = async (): Promise<void> => {
    // The journal tells others that this process lives. That ends after the runs, and while the checkpointer is still there.
    await journal.end();
    await checkpointer.end();
  };
  const service = createService(
    { tier: checkpointer.tier, end },
    { stopListening, maintenance, close: { telemetry: () => telemetry.stop() } },
  );
  const health = healthHandlers(checkpointer, { service, metrics });
  const app = new Hono();

  /** The thread of a request; a thread belongs to the user whose id its own begins with. */
  const threadOf = (context: Context): string => {
    const id = user.parse(context.req.header("x-user-id"));
    return `${id}/${user.parse(context.req.param("thread"))}`;
  };

  /** Requests of this instance that wait for their threads or work on them, and the ids of their messages. */
  const underWay = new Set<{
    readonly threadId: string;
    readonly id: string | undefined;
    readonly client: AbortSignal;
    begun: boolean;
  }>();

  /**
   * Runs the agent as a stream of events. One run at a time works on a thread; a second one waits a moment, and then gets 409.
   * @param inputFor what to run on the thread as it is when nobody else works on it: an input, or nothing, or null to go on with a run
   * that was cut off. Then it is asked again
   * @param id of the message that this is about
   */
  const run = async (
    context: Context,
    inputFor: (thread: Thread) => object | null | undefined,
    id?: string,
  ): Promise<Response> => {
    const threadId = threadOf(context);
    const counted = service.begin(threadId);
    const { control } = counted;
    const request = { threadId, id, client: context.req.raw.signal, begun: false };
    underWay.add(request);
    const stepsOf = async (tell: (node: string) => void): Promise<void> =>
      await withThread(
        checkpointer,
        threadId,
        async ({ signal }) => {
          // Nobody waits for it any more. A run that has begun goes on without its client.
          if (request.client.aborted)
            throw new Refused(409, "CLIENT_LEFT", "The client left before its turn.");
          request.begun = true;
          const config = {
            configurable: { thread_id: threadId },
            durability: "sync" as const,
            signal,
            control,
          };
          const steps = async (given: object | null): Promise<void> => {
            for await (const step of await agent.stream(given as never, { ...config, streamMode: "updates" }))
              for (const node of Object.keys(step as object)) tell(node);
          };
          let input = inputFor(await show(threadId));
          if (input === null) {
            await steps(null);
            input = inputFor(await show(threadId));
          }
          if (input) await steps(input);
        },
        // After this time the threads of an instance that died go to others.
        { waitFor: "15s", leaseFor: "10s", signal: counted.signal },
      );
    const steps = new ReadableStream<string>({
      start: (controller) =>
        void stepsOf((node) => controller.enqueue(node))
          .finally(() => underWay.delete(request))
          .then(
            () => controller.close(),
            (error: unknown) => controller.error(error),
          ),
    }).getReader();
    // What is refused has a status. So the answer begins when the first step is known.
    let next = await steps.read().catch((error: unknown) => {
      counted.end();
      throw error;
    });
    return streamSSE(context, async (stream) => {
      try {
        for (; !next.done; next = await steps.read())
          await stream.writeSSE({ event: "step", data: JSON.stringify(next.value) });
        await stream.writeSSE({ event: "state", data: JSON.stringify(await show(threadId)) });
      } catch (error) {
        await stream.writeSSE({ event: "error", data: JSON.stringify(told(error).body) });
      } finally {
        // Not before the client has its answer: a shutdown waits for that too.
        counted.end();
      }
    });
  };

  const show = async (threadId: string): Promise<Thread> => {
    const { values, tasks } = await agent.getState({ configurable: { thread_id: threadId } });
    // A thread that was never written has no values.
    const { messages = [], documents = [] } = values as { messages?: BaseMessage[]; documents?: string[] };
    const questions = tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value as Question));
    return {
      messages: messages.map((message) => ({ id: message.id, role: message.getType(), text: message.text })),
      documents,
      questions: questions.map(({ id, kind, tool, args }) => ({ id, kind, tool, args })),
      // LangGraph's `next` is empty where a run was cut off right after a node.
      unfinished: tasks.length > 0 && questions.length === 0,
      underWay: [...underWay]
        .filter((each) => each.threadId === threadId && (each.begun || !each.client.aborted))
        .flatMap((each) => each.id ?? []),
    };
  };

  app.post("/threads/:thread/messages", async (context) => {
    const { id, text } = asked.parse(await context.req.json());
    const inputFor = ({ messages, questions, unfinished }: Thread) => {
      const there = messages.find((message) => message.id === id);
      if (there !== undefined && (there.role !== "human" || there.text !== text))
        throw new Refused(422, "OTHER_MESSAGE", "The thread has another message with this id.");
      // A new input would end a run that was cut off, and drop a question: its message would never be answered.
      if (unfinished) return null;
      // It was sent before, and doesn't run twice.
      if (there !== undefined) return undefined;
      if (questions.length > 0)
        throw new Refused(409, "QUESTION_WAITS", "A person has to answer a question first.");
      return { messages: [{ role: "user", content: text, id }] };
    };
    return await run(context, inputFor, id);
  });
  app.post("/threads/:thread/answers", async (context) => {
    const answer = answered.parse(await context.req.json());
    return await run(context, ({ questions, unfinished }) => {
      if (questions.some(({ id }) => id === answer.id))
        return new Command({ resume: { ...answer, author: context.req.header("x-user-id") } });
      if (unfinished) return null;
      throw new Refused(409, "NOT_WAITING", "This question doesn't wait for an answer.");
    });
  });
  /** Goes on with a run that a crash or a shutdown interrupted. */
  app.post("/threads/:thread/resume", async (context) =>
    run(context, ({ unfinished }) => (unfinished ? null : undefined)),
  );
  app.get("/threads/:thread", async (context) => context.json(await show(threadOf(context))));
  for (const path of ["/livez", "/readyz", "/metrics"])
    app.get(path, async (context) => (await health.handle(context.req.raw))!);
  app.onError((error, context) => {
    const { status, body } = told(error);
    if (status === 409 || status === 503) context.header("retry-after", "1");
    return context.json(body, status as 400);
  });
  return { app, service };
}

/** How an error is told to a client: what to do, and nothing of the storage. */
function told(error: unknown): { status: number; body: { code: string; message: string } } {
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return { status: 400, body: { code: "BAD_REQUEST", message: error.message } };
  if (error instanceof Refused)
    return { status: error.status, body: { code: error.code, message: error.message } };
  if (error instanceof GraphDrained)
    return {
      status: 503,
      body: { code: "DRAINING", message: "The service can't answer right now. Send it again." },
    };
  if (!StratigraphError.is(error))
    return { status: 500, body: { code: "INTERNAL", message: "Something went wrong." } };
  const { code } = error;
  if (code === "CHECKPOINT_CONFLICT" || code === "THREAD_BUSY" || code === "LOCK_LOST")
    return { status: 409, body: { code, message: "Another request works on this thread. Send it again." } };
  if (error.retryable || code === "DRAINING" || code === "CLOSED")
    return { status: 503, body: { code, message: "The service can't answer right now. Send it again." } };
  return { status: 500, body: { code, message: "The stored conversation can't be read or written." } };
}
