import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import type { Operation } from "../operations/index.ts";
import { z } from "zod";
import { HttpError } from "./errors.ts";

/** How many bytes a request's body may have: an edited state may be large. */
export const mostBodyBytes = 64 * 2 ** 20;

/** An operation's input out of a query. A repeated key becomes a list; objects are JSON. @throws InvalidOptionError */
export function inputFromQuery(operation: Operation, request: Request): Record<string, unknown> {
  const entries = queryOf(request);
  const input = new Map<string, unknown>();
  for (const [name, value] of entries) {
    const before = input.get(name);
    if (before === undefined) input.set(name, value);
    else input.set(name, [...(Array.isArray(before) ? before : [before]), value]);
  }
  for (const name of objectsIn(operation)) {
    const text = input.get(name);
    if (typeof text === "string") input.set(name, parsed(name, text));
  }
  return Object.fromEntries(input);
}

/** The parameters of a request's query. @throws InvalidOptionError if it isn't well formed */
export function queryOf(request: Request): URLSearchParams {
  const { search, searchParams } = new URL(request.url);
  try {
    decodeURIComponent(search);
  } catch {
    throw new InvalidOptionError(
      "query",
      search.slice(0, 100),
      "After a % there must be two hexadecimal digits of UTF-8: encode with encodeURIComponent.",
    );
  }
  return searchParams;
}

/** An operation's input out of a body that is a JSON object. @throws InvalidOptionError; HttpError 413 */
export async function inputFromBody(request: Request): Promise<Record<string, unknown>> {
  const text = await bodyText(request);
  if (text === "") return {};
  const type = request.headers.get("content-type") ?? "";
  // Browsers let pages of other origins send plain text and forms without asking first, but not this type.
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    throw new InvalidOptionError("content-type", type, "Send application/json.");
  const body = parsed("body", text);
  if (typeof body === "object" && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw new InvalidOptionError("body", "JSON that is no object", "Send an object of the operation's fields.");
}

/** The fields that are objects: a query contains them as JSON. */
function objectsIn({ input }: Operation): string[] {
  const { properties = {} } = z.toJSONSchema(input, { io: "input" }) as {
    properties?: Readonly<Record<string, { readonly type?: string }>>;
  };
  return Object.entries(properties).flatMap(([name, { type }]) => (type === "object" ? [name] : []));
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidOptionError(name, "text that is no JSON", "Send JSON.");
  }
}

/** A request's body. Stops reading if it is larger. @throws HttpError 413 */
export async function bodyText({ body, headers }: Request, mostBytes = mostBodyBytes): Promise<string> {
  if (Number(headers.get("content-length") ?? 0) > mostBytes) throw tooLarge(mostBytes);
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLarge(mostBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function tooLarge(mostBytes: number): HttpError {
  const message = `The body of the request has more than ${mostBytes / 2 ** 20} MB. Send less at once, or use the command line.`;
  return new HttpError(413, new StratigraphError("INVALID_OPTION", message, { field: "body" }));
}
