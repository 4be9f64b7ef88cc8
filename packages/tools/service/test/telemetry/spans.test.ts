import * as openTelemetry from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-base";
import { PostgresSaver } from "@stratigraph/postgres";
import { observe, type Telemetry } from "@stratigraph/service";
import pg from "pg";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { agent } from "./support.ts";

// Spans of a run on a real PostgreSQL, as an OpenTelemetry SDK collects them.

const exporter = new InMemorySpanExporter();
let database: Awaited<ReturnType<typeof freshDatabase>>;
let telemetry: Telemetry | undefined;
beforeAll(async () => {
  database = await freshDatabase();
  openTelemetry.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  openTelemetry.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});
afterEach(() => {
  telemetry?.stop();
  exporter.reset();
});
afterAll(async () => {
  openTelemetry.trace.disable();
  openTelemetry.context.disable();
  await database.drop();
});

/** A pool that makes a span for each query, as `@opentelemetry/instrumentation-pg` does. */
function instrumentedPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  const tracer = openTelemetry.trace.getTracer("driver");
  Object.assign(pool, {
    query: async (...args: unknown[]) => {
      const span = tracer.startSpan("pg.query");
      return await query(...args).finally(() => span.end());
    },
  });
  return pool;
}

function byName(name: string): ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

function parentOf(span: ReadableSpan): ReadableSpan | undefined {
  return exporter
    .getFinishedSpans()
    .find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId);
}

test("a driver's span is inside of a tier's, that inside of an operation's, that inside of the caller's", async () => {
  const pool = instrumentedPool();
  const saver = new PostgresSaver({ pool });
  await saver.setup();
  exporter.reset();
  telemetry = observe({ openTelemetry });
  const tracer = openTelemetry.trace.getTracer("application");
  const ask = async (threadId: string): Promise<void> =>
    await tracer.startActiveSpan(`request ${threadId}`, async (span) => {
      await agent(saver).invoke(
        { text: "hello" },
        { configurable: { thread_id: threadId }, durability: "sync" },
      );
      span.end();
    });
  // At the same time, so that appends wait for each other and share statements.
  const threads = Array.from({ length: 8 }, (_, n) => `t${n}`);
  await Promise.all(threads.map(ask));

  const appends = byName("append postgres");
  expect(appends.length).toBeGreaterThan(3);
  for (const span of appends) {
    expect(span.attributes).toMatchObject({
      "db.system.name": "postgresql",
      "db.operation.name": "append",
      "stratigraph.tier": "postgres",
    });
    expect(parentOf(span)!.name).toMatch(/^stratigraph\.put(Writes)?$/);
  }
  const sizes = appends.map(({ attributes }) => Number(attributes["db.operation.batch.size"] ?? 1));
  expect(Math.max(...sizes)).toBeGreaterThan(1);
  const queries = byName("pg.query");
  expect(queries.length).toBeGreaterThan(appends.length);
  for (const query of queries) expect(parentOf(query)?.name).toMatch(/ postgres$/);
  for (const threadId of threads) {
    const request = byName(`request ${threadId}`)[0]!;
    const puts = byName("stratigraph.put").filter(
      ({ attributes }) => attributes["gen_ai.conversation.id"] === threadId,
    );
    expect(puts.map(({ attributes }) => attributes["stratigraph.checkpoint.step"])).toEqual([-1, 0, 1]);
    for (const put of puts) {
      expect(put.spanContext().traceId).toBe(request.spanContext().traceId);
      expect(put.attributes["stratigraph.outcome"]).toBe("ok");
      expect(put.attributes["stratigraph.bytes"]).toBeGreaterThan(10);
    }
  }
  await saver.end();
  await pool.end();
});

test("a failure has its type and the server's code; without thread ids, none is told", async () => {
  const pool = new pg.Pool({ connectionString: database.url });
  pool.on("error", () => undefined);
  await pool.query("create schema lost");
  const saver = new PostgresSaver({ pool, schema: "lost" });
  telemetry = observe({ openTelemetry, threadIds: false });
  await expect(saver.getTuple({ configurable: { thread_id: "secret" } })).rejects.toMatchObject({
    code: "NOT_SET_UP",
  });
  const [operation] = byName("stratigraph.getTuple");
  expect(operation!.status).toMatchObject({ code: openTelemetry.SpanStatusCode.ERROR });
  expect(operation!.attributes).toMatchObject({
    "error.type": "NOT_SET_UP",
    "stratigraph.outcome": "failed",
  });
  const [call] = byName("read postgres");
  expect(call!.attributes["error.type"]).toBe("NOT_SET_UP");
  expect(call!.attributes["db.response.status_code"]).toMatch(/^(3F000|42883|42P01)$/);
  expect(JSON.stringify(exporter.getFinishedSpans().map(({ attributes }) => attributes))).not.toContain(
    "secret",
  );
  await saver.end();
  await pool.end();
});

test("once stopped, no span is made; a second observer of spans is refused", async () => {
  telemetry = observe({ openTelemetry });
  expect(() => observe({ openTelemetry })).toThrowError(expect.objectContaining({ code: "INVALID_OPTION" }));
  telemetry.stop();
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.getTuple({ configurable: { thread_id: "t" } });
  expect(exporter.getFinishedSpans()).toEqual([]);
  await saver.end();
});
