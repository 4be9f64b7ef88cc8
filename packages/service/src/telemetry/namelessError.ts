import { inspect } from "node:util";
import { errorType } from "./measure.ts";

/**
 * An error as it may be told where threads aren't named. One that names a thread, in its message, data or causes, is told by its type
 * alone; any other as it is.
 * @param threadId the thread that is known to be concerned
 */
export function namelessError(error: unknown, threadId: unknown): unknown {
  const { data, code } = Object(error) as { data?: unknown; code?: unknown };
  const { threadId: inData } = Object(data) as { threadId?: unknown };
  const ids = [threadId, inData].filter((id): id is string => typeof id === "string" && id !== "");
  const text = inspect(error, { depth: 10 });
  if (!ids.some((id) => text.includes(id) || text.includes(JSON.stringify(id).slice(1, -1)))) return error;
  const nameless = new Error("its message isn't told, as it names a thread");
  nameless.name = errorType(error);
  nameless.stack = `${nameless.name}: ${nameless.message}`;
  return typeof code === "string" ? Object.assign(nameless, { code }) : nameless;
}
