import { signal } from "@preact/signals";
import type { Access, InputOf, OperationName, OutputOf } from "../../src/operations/index.ts";
import { search, type Query } from "../router.ts";
import { tokenHeaders } from "./token.ts";

/** What the server reports about itself. */
export interface Session {
  readonly version: string;
  /** The storage, without passwords: "postgresql://localhost/agents". */
  readonly storage: string;
  /** Where its settings came from. */
  readonly origin: string;
  readonly allow: readonly Access[];
  /** Names of the graphs that what-if can run. */
  readonly graphs: readonly string[];
  readonly operations: readonly {
    readonly name: string;
    readonly effect: Access;
    readonly summary: string;
  }[];
}

/** A request that the server refused, or that failed there. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Input fields that were wrong, and what was expected in each. */
    readonly fields: readonly { readonly path: string; readonly expected: string }[] = [],
    /** The address of a page with more information. */
    readonly help?: string | undefined,
  ) {
    super(message);
  }
}

export const session = signal<Session | undefined>(undefined);

/** Whether the server answers. */
export const connection = signal<"up" | "lost">("up");

/** The server's error message while it can't reach the storage. */
export const storageError = signal<string | undefined>(undefined);

/** How often a lost connection came back. Each time, the shown data is reloaded. */
export const returns = signal(0);

/** Set when the server doesn't know the token of this tab. */
export const tokenRefused = signal(false);

/** Whether the server lets this page do something. */
export function may(effect: Access): boolean {
  return session.value?.allow.includes(effect) ?? false;
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs an operation on the server.
 * @throws ApiError; a DOMException named "AbortError" once `signal` is aborted
 */
export async function call<N extends OperationName>(
  name: N,
  input: InputOf<N>,
  options: CallOptions = {},
): Promise<OutputOf<N>> {
  return (await callAny(name, input as Readonly<Record<string, unknown>>, options)) as OutputOf<N>;
}

/** As {@link call}, for operations of which only the name is known. */
export async function callAny(
  name: string,
  input: Readonly<Record<string, unknown>>,
  { signal }: CallOptions = {},
): Promise<unknown> {
  const { operations } = await loadSession();
  const effect = operations.find((operation) => operation.name === name)?.effect ?? "read";
  const response =
    effect === "read"
      ? await request(`/api/${name}${search(input as Query)}`, { signal })
      : await request(`/api/${name}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(input),
          signal,
        });
  return await response.json();
}

/** The server's session, asked for once. @throws as {@link call} */
export async function loadSession(): Promise<Session> {
  if (session.value !== undefined) return session.value;
  loading ??= request("/api/_session", {})
    .then(async (response) => {
      const found = (await response.json()) as Session;
      session.value = found;
      return found;
    })
    .finally(() => {
      loading = undefined;
    });
  return await loading;
}

let loading: Promise<Session> | undefined;

/** Sends a request with the token, and notes a lost connection. @throws as {@link call} */
export async function request(
  url: string,
  { signal, headers, ...init }: Omit<RequestInit, "signal"> & CallOptions,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      ...init,
      headers: { ...(headers as Record<string, string> | undefined), ...tokenHeaders() },
      cache: "no-store",
      credentials: "omit",
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    lost();
    throw new ApiError(0, "DISCONNECTED", "The inspector doesn't answer. Is it still running?");
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401) tokenRefused.value = true;
  throw error;
}

async function errorOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  const { code, message, fields, help } = Object(Object(body).error) as Record<string, unknown>;
  return new ApiError(
    status,
    typeof code === "string" ? code : `HTTP ${status}`,
    typeof message === "string" ? message : `The server answered with the status ${status}.`,
    Array.isArray(fields) ? (fields as ApiError["fields"]) : [],
    typeof help === "string" ? help : undefined,
  );
}

/** The waits between attempts to reach a server that is gone. The last one is used from then on. */
const waitsMs = [500, 1000, 2000, 4000];

function lost(): void {
  if (connection.value === "lost") return;
  connection.value = "lost";
  const attempt = async (n: number): Promise<void> => {
    try {
      const response = await fetch("/api/_session", {
        headers: tokenHeaders(),
        cache: "no-store",
        credentials: "omit",
      });
      if (response.ok) session.value = (await response.json()) as Session;
      else if (response.status === 401) tokenRefused.value = true;
      connection.value = "up";
      returns.value += 1;
    } catch {
      setTimeout(() => void attempt(n + 1), waitsMs[Math.min(n, waitsMs.length - 1)]);
    }
  };
  setTimeout(() => void attempt(1), waitsMs[0]);
}
