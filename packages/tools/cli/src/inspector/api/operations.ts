import { StratigraphError } from "@stratigraph/core";
import {
  operations as table,
  runOperation,
  type Context,
  type Access,
  type Operation,
} from "../../operations/index.ts";
import { checkedInput } from "../../operations/table/runOperation.ts";
import { staysDry } from "../../operations/table/staysDry.ts";
import type { Running } from "../../serving/running.ts";
import type { SharedContext } from "../../serving/sharedContext.ts";
import { answerTo, HttpError } from "../../serving/errors.ts";
import { EventStream } from "./eventStream.ts";
import { inputFromBody, inputFromQuery } from "../../serving/input.ts";

/** The shortest time between two reports of progress, in milliseconds. */
const reportMs = 200;

/** What {@link answerOperation} needs to run operations. */
export interface OperationHost {
  readonly context: SharedContext;
  readonly allow: readonly Access[];
  readonly running: Running;
  readonly onError: (error: unknown) => void;
}

/**
 * Operations that are offered over HTTP: those on the storage that is shown. The others read and write files, and connect to any
 * address that they are given, so only the command line has them.
 */
export const offered: readonly Operation[] = table.filter(({ group }) => group !== "transfer");

const byName: ReadonlyMap<string, Operation> = new Map(offered.map((each) => [each.name, each]));

/** Answers a request for an operation. @throws HttpError; everything that the operation throws */
export async function answerOperation(
  name: string,
  request: Request,
  host: OperationHost,
): Promise<Response> {
  const operation = byName.get(name);
  if (operation === undefined) {
    const message = `There is no operation ${JSON.stringify(name.slice(0, 100))} here.`;
    throw new HttpError(404, new StratigraphError("NOT_FOUND", message));
  }
  const given = await inputOf(operation, request);
  refuseForbidden(operation, checkedInput(operation, given), host.allow);
  if (/\btext\/event-stream\b/.test(request.headers.get("accept") ?? ""))
    return streamed(operation, given, request.signal, host);
  const output = await host.running.run(request.signal, (signal) =>
    runOperation(operation, given, { ...host.context, signal, progress: () => undefined }),
  );
  return Response.json(output);
}

async function inputOf(operation: Operation, request: Request): Promise<Record<string, unknown>> {
  const { method } = request;
  if (method === "GET" && operation.effect === "read") return inputFromQuery(operation, request);
  if (method === "POST") return await inputFromBody(request);
  const message = `Ask for ${operation.name} with ${operation.effect === "read" ? "GET or POST" : "POST"}.`;
  throw new HttpError(405, new StratigraphError("INVALID_OPTION", message, { field: "method" }));
}

/** @throws StratigraphError "ACCESS_DENIED" */
function refuseForbidden(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  allow: readonly Access[],
): void {
  const { name, effect } = operation;
  const needed = staysDry(operation, input) ? "read" : effect;
  if (allow.includes(needed)) return;
  const how =
    needed === "read" ? "It may do nothing." : `Start it with --allow ${needed}, if the config lets it.`;
  const message = `${name} needs the right to ${needed}, which this inspector doesn't have. ${how}`;
  throw new StratigraphError("ACCESS_DENIED", message, { operation: name });
}

/** Runs an operation, and streams events: "progress" and "event" meanwhile, and "result" or "error" at the end. */
function streamed(
  operation: Operation,
  given: Record<string, unknown>,
  client: AbortSignal,
  { context, running, onError }: OperationHost,
): Response {
  const gone = new AbortController();
  const abort = (): void => gone.abort();
  client.addEventListener("abort", abort, { once: true });
  const stream = new EventStream(() => {
    client.removeEventListener("abort", abort);
    gone.abort();
  });
  const work = async (signal: AbortSignal): Promise<void> => {
    const output = await runOperation(operation, given, {
      ...context,
      signal,
      progress: paced((progress) => stream.send("progress", progress)),
      emit: (event) => stream.send("event", event),
    });
    stream.send("result", output);
  };
  running
    .run(gone.signal, work)
    .catch((error: unknown) => {
      const { body, status } = answerTo(error, context.redact.length > 0);
      if (status === 500) onError(error);
      stream.send("error", { ...body, status });
    })
    .finally(() => stream.end());
  return stream.response;
}

/** Limits reports to a few per second. */
function paced(tell: Context["progress"]): Context["progress"] {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (progress) => {
    const now = performance.now();
    if (now - lastAt < reportMs) return;
    lastAt = now;
    tell(progress);
  };
}
