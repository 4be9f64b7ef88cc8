import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { observe } from "@stratigraph/service";
import { createCheckpointer, type TraceEvent } from "stratigraph";
import { createApp } from "../../examples/production/service/app.ts";

test("a run is counted until its client has the answer, so that a shutdown waits for that", async () => {
  const checkpointer = await createCheckpointer({ memory: true });
  const noLog = (): void => undefined;
  const log = { debug: noLog, info: noLog, warn: noLog, error: noLog };
  const telemetry = observe({ log });
  const { app, service } = await createApp({
    checkpointer,
    telemetry,
    payBack: async () => "paid",
    metrics: async () => ({ contentType: "text/plain", body: "" }),
  });
  const counts: number[] = [];
  const listen = (event: unknown): void => {
    if ((event as TraceEvent).type === "operation-start") counts.push(service.underWay);
  };
  subscribe("stratigraph", listen);
  const headers = { "x-user-id": "ada", "content-type": "application/json" };
  const body = JSON.stringify({ text: "How long is the warranty?" });
  const answer = await app.request("/threads/1/messages", { method: "POST", headers, body });
  expect(await answer.text()).toContain("event: state");
  unsubscribe("stratigraph", listen);
  expect(counts.length).toBeGreaterThan(3);
  expect(new Set(counts)).toEqual(new Set([1]));
  expect(service.underWay).toBe(0);
  telemetry.stop();
  await checkpointer.end();
});
