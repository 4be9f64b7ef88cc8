/**
 * One instance. Settings come from the environment: DATABASE_URL, REDIS_URL, ARCHIVE_URL (any may be missing: without a database it keeps
 * everything in memory), PORT, LEDGER (where refunds are written), MAINTENANCE=off for instances that leave it to a worker.
 */
import { appendFile } from "node:fs/promises";
import { serve } from "@hono/node-server";
import { drainOnSignals, observe } from "@stratigraph/service";
import { pino } from "pino";
import * as prometheus from "prom-client";
import { createCheckpointer } from "stratigraph";
import { createApp } from "./app.ts";

const { DATABASE_URL, REDIS_URL, ARCHIVE_URL, MAINTENANCE } = process.env;
const { PORT = "8080", HOST = "0.0.0.0", LEDGER = "refunds.jsonl" } = process.env;
const log = pino({ level: process.env["LOG_LEVEL"] ?? "info" });

prometheus.collectDefaultMetrics();
const telemetry = observe({ prometheus, log });
const checkpointer = await createCheckpointer({
  warm: DATABASE_URL ?? "memory:",
  hot: REDIS_URL,
  cold: ARCHIVE_URL,
  ...(ARCHIVE_URL === undefined ? {} : { archiveAfter: "30d" }),
});
const maintenance = MAINTENANCE === "off" ? undefined : checkpointer.startMaintenance({ every: "10m" });

const { app, service } = await createApp({
  checkpointer,
  telemetry,
  maintenance,
  // Stands for a payment service. It is told the same key for the same refund.
  payBack: async (refund) => {
    await appendFile(LEDGER, `${JSON.stringify(refund)}\n`);
    return `${refund.amount} EUR were paid back`;
  },
  metrics: async () => ({
    contentType: prometheus.register.contentType,
    body: await prometheus.register.metrics(),
  }),
  stopListening: () => server.close(),
});
const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: HOST }, ({ port }) => {
  log.info({ port }, "ready");
  process.send?.({ port });
});
drainOnSignals(service, { onReport: (report) => log.info({ report }, "shut down") });
