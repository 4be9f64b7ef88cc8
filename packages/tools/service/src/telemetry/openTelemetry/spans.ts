import type { Begun, Ended, Span, Tracer } from "@stratigraph/core/internal";
import { errorType, systemOf } from "../measure.ts";
import { errorWithoutThread } from "../errorWithoutThread.ts";
import type { Attributes, CalledApi } from "./api.ts";

/** The numbers of SpanKind.INTERNAL, SpanKind.CLIENT and SpanStatusCode.ERROR in `@opentelemetry/api`. */
const [internal, client, failed] = [0, 2, 2];

/**
 * Makes spans: one for each operation of a saver, active while it runs, and inside of it one for each call of a tier. The attributes
 * are those of OpenTelemetry's conventions for databases (1.45), and our own under `stratigraph.`.
 * @param conversations whether spans contain the thread's id: as `gen_ai.conversation.id`, and in the messages of errors
 */
export function spanTracer({ trace, context }: CalledApi, conversations: boolean): Tracer {
  const tracer = trace.getTracer("@stratigraph/service");
  return {
    begin(event: Begun): Span {
      const around = context.active();
      const attributes = {
        ...startAttributes(event),
        ...(conversations ? conversationAttributes(event) : {}),
      };
      const isCall = event.type === "call-start";
      const name = isCall ? `${event.method} ${event.tier}` : `stratigraph.${event.method}`;
      const span = tracer.startSpan(name, { kind: isCall ? client : internal, attributes }, around);
      const inside = trace.setSpan(around, span);
      return {
        run: (work) => context.with(inside, work),
        end: (ended) => {
          span.setAttributes(endAttributes(ended));
          if (ended.error !== undefined) {
            const told = conversations ? ended.error : errorWithoutThread(ended.error, ended.threadId);
            const error = asError(told);
            span.recordException(error);
            span.setStatus({ code: failed, message: error.message });
          }
          span.end();
        },
      };
    },
  };
}

function startAttributes(event: Begun): Attributes {
  if (event.type === "call-start")
    return {
      "db.system.name": systemOf(event.tier),
      "db.operation.name": event.method,
      "stratigraph.tier": event.tier,
      ...(event.batch === undefined ? {} : { "db.operation.batch.size": event.batch }),
    };
  const { namespace } = event;
  return namespace === undefined ? {} : { "stratigraph.checkpoint.namespace": namespace };
}

function conversationAttributes({ threadId }: Begun): Attributes {
  return typeof threadId === "string" ? { "gen_ai.conversation.id": threadId } : {};
}

function endAttributes(event: Ended): Attributes {
  const told: Record<string, string | number | undefined> =
    event.type === "call"
      ? { "stratigraph.sent": event.sent, "stratigraph.received": event.received }
      : {
          "stratigraph.outcome": event.outcome,
          "stratigraph.checkpoint.id": event.checkpointId,
          "stratigraph.checkpoint.step": event.step,
          "stratigraph.bytes": event.bytes,
          "stratigraph.source": event.from,
        };
  if (event.error !== undefined) told["error.type"] = errorType(event.error);
  const state = sqlState(event.error);
  if (state !== undefined) told["db.response.status_code"] = state;
  return Object.fromEntries(
    Object.entries(told).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  );
}

/** The database's error code, such as PostgreSQL's five characters, if a database error caused ours. */
function sqlState(error: unknown): string | undefined {
  const { cause } = Object(error) as { cause?: unknown };
  const { code } = Object(cause) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
