import type { TraceEvent } from "@stratigraph/core";
import { errorWithoutThread } from "./errorWithoutThread.ts";

/** The logger that gets the lines: pino, or any object with these methods, such as an adapter of the application. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type Level = keyof Logger;

/** A line of the log. */
type Line = readonly [level: Level, message: string];

/**
 * Writes events that are worth a line: failures, conflicts, breakers, work that was given up, maintenance, calls of tools. Operations and
 * calls that end well get no line: metrics and spans show them.
 * @param threads whether lines name the thread
 */
export function logEvent(logger: Logger, event: TraceEvent, threads: boolean): void {
  const line = lineOf(event);
  if (line === undefined) return;
  const { type, ...fields } = event as TraceEvent & Record<string, unknown>;
  const { threadId, error: own, data, ...rest } = fields;
  // Loggers write an error's message only if the error is a field of its own.
  const { error = own, ...found } = Object(data) as Record<string, unknown>;
  const told = {
    event: `stratigraph.${type}`,
    ...rest,
    ...(data === undefined ? {} : { data: isPlain(data) ? found : data }),
    ...(threads && threadId !== undefined ? { threadId } : {}),
    ...(error === undefined ? {} : { err: threads ? error : errorWithoutThread(error, threadId) }),
  };
  const [level, message] = line;
  logger[level](told, message);
}

function isPlain(data: unknown): boolean {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

function lineOf(event: TraceEvent): Line | undefined {
  switch (event.type) {
    case "operation":
      return event.outcome === "failed" ? ["warn", `${event.method} failed`] : undefined;
    case "call":
      return event.error === undefined
        ? undefined
        : ["debug", `${event.method} of tier ${event.tier} failed, or was refused`];
    case "conflict":
      return [
        "warn",
        event.outcome === "branched"
          ? "another writer was faster: the checkpoint was stored as a side branch"
          : "another writer was faster: the checkpoint was refused",
      ];
    case "cache":
      return cacheLine(event);
    case "hook":
      return ["error", `${event.hook} threw`];
    case "late-write-dropped":
      return ["warn", "a write to a deleted thread was dropped"];
    case "tool-call":
      return toolLine(event);
    case "retry":
      return ["info", `tier ${event.tier} is asked again`];
    case "breaker":
      return breakerLine(event);
    case "unreachable":
      return ["warn", `tier ${event.tier} (${event.role}) can't be reached; the stack goes on without it`];
    case "dropped":
      return ["warn", `${event.count} ${event.what} of tier ${event.tier} given up`];
    case "behind":
      return ["warn", `history was read from a replica, as ${event.tier} is down`];
    case "brought":
      return ["info", `a thread was brought from ${event.source}`];
    case "source-went-on":
      return ["warn", `a thread that was brought from ${event.source} was written to there afterwards`];
    case "maintenance":
      return maintenanceLine(event);
    case "verified":
      return event.findings.error > 0
        ? ["error", `verify found ${event.findings.error} errors`]
        : ["info", "verified"];
    case "operation-start":
    case "call-start":
    case "hot-read":
    case "copy-queue":
    case "stored":
      return undefined;
  }
}

function cacheLine({ tier, result, error }: Extract<TraceEvent, { type: "cache" }>): Line | undefined {
  if (result === "failed")
    return ["warn", `the cache on tier ${tier} failed and is left alone for a while; nodes run without it`];
  if (result === "unreadable") return ["warn", `a value in the cache on tier ${tier} can't be read`];
  return result === "unstored" && error !== undefined
    ? ["warn", "a value can't be stored in the cache"]
    : undefined;
}

function breakerLine({ tier, use, state }: Extract<TraceEvent, { type: "breaker" }>): Line {
  if (state === "open") return ["error", `tier ${tier} fails and is left alone for a while (${use})`];
  return state === "closed"
    ? ["info", `tier ${tier} is used again (${use})`]
    : ["debug", `tier ${tier} is tried again (${use})`];
}

function maintenanceLine({ what, data }: Extract<TraceEvent, { type: "maintenance" }>): Line {
  const { error } = Object(data) as { error?: unknown };
  return error === undefined ? ["debug", `maintenance: ${what}`] : ["error", `maintenance failed: ${what}`];
}

function toolLine({ tool, outcome, notKept }: Extract<TraceEvent, { type: "tool-call" }>): Line {
  const message = `call of ${tool}: ${outcome}`;
  if (outcome === "ran" && notKept !== undefined)
    return ["warn", `${message}, and its result can't be kept: ${notKept}`];
  if (outcome === "ran" || outcome === "replayed") return ["debug", message];
  if (outcome === "denied" || outcome === "suspended") return ["info", message];
  return outcome === "failed" ? ["warn", message] : ["error", message];
}
