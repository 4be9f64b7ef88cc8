import * as openTelemetry from "@opentelemetry/api";
import { trace } from "@stratigraph/core/internal";
import { observe } from "@stratigraph/service";
import * as prometheus from "prom-client";

test("a second observer of OpenTelemetry would count twice, and is refused until the first has stopped", () => {
  const first = observe({ openTelemetry, spans: false });
  for (const spans of [true, false])
    expect(() => observe({ openTelemetry, spans })).toThrowError(
      expect.objectContaining({
        code: "INVALID_OPTION",
        message: expect.stringContaining("observed already"),
      }),
    );
  first.stop();
  observe({ openTelemetry, spans: false }).stop();
});

test("durations are told in seconds", async () => {
  const register = new prometheus.Registry();
  const telemetry = observe({ prometheus, register });
  trace({ type: "operation", id: 1, method: "put", threadId: "t", outcome: "ok", ms: 1500 });
  trace({ type: "call", id: 2, tier: "memory", method: "append", threadId: "t", ms: 250 });
  const text = await register.metrics();
  expect(text).toMatch(/^stratigraph_operation_duration_seconds_sum\{.*\} 1\.5$/m);
  expect(text).toMatch(/^db_client_operation_duration_seconds_sum\{.*\} 0\.25$/m);
  telemetry.stop();
});
