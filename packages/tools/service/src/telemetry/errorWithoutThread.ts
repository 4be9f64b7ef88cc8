import { inspect } from "node:util";
import { errorType } from "./measure.ts";

/**
 * Replaces an error that names a thread, in its message, data or causes, by its type alone. Returns other errors unchanged. For
 * reports that must not name threads.
 * @param threadId the thread that is known to be concerned
 */
export function errorWithoutThread(error: unknown, threadId: unknown): unknown {
  const { data, code } = Object(error) as { data?: unknown; code?: unknown };
  const { threadId: inData } = Object(data) as { threadId?: unknown };
  const ids = [threadId, inData].filter((id): id is string => typeof id === "string" && id !== "");
  const text = inspect(error, { depth: 10 });
  if (!ids.some((id) => text.includes(id) || text.includes(JSON.stringify(id).slice(1, -1)))) return error;
  const replacement = new Error("its message isn't told, as it names a thread");
  replacement.name = errorType(error);
  replacement.stack = `${replacement.name}: ${replacement.message}`;
  return typeof code === "string" ? Object.assign(replacement, { code }) : replacement;
}
