import { request } from "node:http";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { inspect, type InspectOptions, type RunningInspector } from "../../../src/inspector/index.ts";
import { readEvents, type Events } from "./events.ts";

/** An inspector that listens, and requests to it with its token. */
export interface Served {
  readonly saver: TierSaver;
  readonly inspector: RunningInspector;
  readonly origin: string;
  readonly token: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(operation: string, input: unknown, headers?: Record<string, string>): Promise<Answer>;
  events(path: string, init?: RequestInit): Promise<Events>;
}

/** A status, and the JSON that came with it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Serves an inspector over a saver: by default, over one in memory. */
export async function serve(options: Partial<InspectOptions> = {}): Promise<Served> {
  const { saver = new TierSaver(new MemoryTier()), ...others } = options;
  const inspector = await inspect({ saver, pollMs: 20, ...others });
  const { origin, hash } = new URL(inspector.url);
  const token = hash.replace("#token=", "");
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const headers = { "x-stratigraph-token": token, ...(init.headers as Record<string, string>) };
    const response = await fetch(`${origin}${path}`, { ...init, headers });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Answer["body"],
    };
  };
  return {
    saver: saver as TierSaver,
    inspector,
    origin,
    token,
    get: (path, headers = {}) => ask(path, { headers }),
    post: (operation, input, headers = {}) =>
      ask(`/api/${operation}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof input === "string" ? input : JSON.stringify(input),
      }),
    events: async (path, init = {}) => {
      const headers = { "x-stratigraph-token": token, ...(init.headers as Record<string, string>) };
      return readEvents(await fetch(`${origin}${path}`, { ...init, headers }));
    },
  };
}

/** What a server answered to a request as it was written: nothing in its path or headers was made valid on the way. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request whose path and Host header are as given. */
export function sendRaw(
  origin: string,
  { path = "/", method = "GET", headers = {}, body = "" }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

interface RawRequest {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}
