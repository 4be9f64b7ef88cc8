import { InvalidOptionError, type Duration } from "@stratigraph/core";
import { checkOptions, waitMsOf, type OptionNames } from "@stratigraph/core/internal";
import type { ServedSaver } from "../servedSaver.ts";
import { ReadinessCheck, type Readiness } from "./readiness.ts";
import { Scrape, type RenderedMetrics } from "./scrape.ts";

/** Options of {@link healthHandlers}. */
export interface HealthHandlerOptions {
  /** How long a tier may take to answer; all are asked at the same time. Default "1s". */
  readonly timeout?: Duration | undefined;
  /** The service whose shutdown makes `/readyz` say that this process is draining. Default: none, so that it never does. */
  readonly service?: { readonly draining: boolean } | undefined;
  /**
   * Renders metrics, as `{ contentType, body }`. With prom-client:
   * `async () => ({ contentType: register.contentType, body: await register.metrics() })`. Default: none, and `/metrics` answers 404.
   */
  readonly metrics?: (() => Promise<RenderedMetrics>) | undefined;
}

/** A handler of a web standard request, as Hono, Deno, Bun, Next.js and others take it. Never rejects. */
export type Handler = (request: Request) => Promise<Response>;

/** Handlers for probes. */
export interface HealthHandlers {
  /** 200 as long as this process runs and its event loop turns. It asks no storage, as restarting the process wouldn't heal one. */
  readonly livez: Handler;
  /**
   * 200 if this process can serve, otherwise 503. JSON: `{ status }`, and with `?verbose` `tiers` too. It contains no thread ids, error
   * messages or addresses.
   */
  readonly readyz: Handler;
  /** Metrics as text; 404 if there are none, 500 if rendering them fails. */
  readonly metrics: Handler;
  /** Answers `/livez`, `/readyz` and `/metrics`, under any prefix; undefined for every other path. */
  readonly handle: (request: Request) => Promise<Response | undefined>;
  /** The result of `/readyz` as an object, for answers of your own. Never rejects. */
  readonly readiness: () => Promise<Readiness>;
}

const names: OptionNames<HealthHandlerOptions> = { timeout: true, service: true, metrics: true };

/**
 * Handlers for the probes of Kubernetes, load balancers and Prometheus. However many probes come, each tier is asked once at a time, and
 * a tier that hangs is asked at most three times before it answers.
 * @param saver a Stratigraph checkpointer
 * @throws InvalidOptionError
 */
export function healthHandlers(
  saver: Pick<ServedSaver, "tier">,
  options: HealthHandlerOptions = {},
): HealthHandlers {
  checkOptions("healthHandlers", options, names);
  const { timeout = "1s", service, metrics: render } = options;
  const timeoutMs = waitMsOf("timeout", timeout);
  if (timeoutMs <= 0) throw new InvalidOptionError("timeout", timeout, "Use a duration above 0.");
  if (render !== undefined && typeof render !== "function")
    throw new InvalidOptionError("metrics", typeof render, "Pass a function that renders them.");
  const check = new ReadinessCheck(saver.tier, timeoutMs);
  const scrape = render === undefined ? undefined : new Scrape(render);

  const livez = got(async () => json({ status: "alive" }, 200));
  const readiness = (): Promise<Readiness> => check.check(() => service?.draining === true);
  const readyz = got(async (request) => {
    const { status, tiers } = await readiness();
    const isVerbose = new URL(request.url).searchParams.has("verbose");
    return json(isVerbose ? { status, tiers } : { status }, servesAs(status));
  });
  const metrics = got(async () => {
    if (scrape === undefined) return json({ status: "this process has no metrics" }, 404);
    try {
      const rendered = await scrape.text();
      if (typeof rendered?.body !== "string" || typeof rendered.contentType !== "string")
        return json({ status: "the option metrics has to resolve to { contentType, body }, both text" }, 500);
      return answer(rendered.body, 200, rendered.contentType);
    } catch {
      // The reason may hold anything, and this answer goes to anybody.
      return json({ status: "metrics couldn't be rendered" }, 500);
    }
  });
  const routes: Readonly<Record<string, Handler>> = { livez, readyz, metrics };
  return {
    livez,
    readyz,
    metrics,
    handle: async (request) => {
      const name = new URL(request.url).pathname.split("/").at(-1)!;
      return Object.hasOwn(routes, name) ? await routes[name]!(request) : undefined;
    },
    readiness,
  };
}

function servesAs(status: Readiness["status"]): 200 | 503 {
  return status === "ready" || status === "degraded" ? 200 : 503;
}

/** A handler for GET and HEAD. */
function got(handler: Handler): Handler {
  return async (request) => {
    if (request.method === "GET") return await handler(request);
    if (request.method !== "HEAD") return json({ status: "use GET" }, 405, { allow: "GET, HEAD" });
    const { status, headers } = await handler(request);
    return new Response(null, { status, headers });
  };
}

function json(value: object, status: number, headers: Record<string, string> = {}): Response {
  return answer(`${JSON.stringify(value)}\n`, status, "application/json", headers);
}

function answer(
  body: string,
  status: number,
  contentType: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(body, {
    status,
    headers: { "content-type": contentType, "cache-control": "no-store", ...headers },
  });
}
