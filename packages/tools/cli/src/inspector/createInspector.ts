import { StratigraphError } from "@stratigraph/core";
import { Hono } from "hono";
import { answerTo, HttpError } from "../serving/errors.ts";
import { answerOperation, offered } from "./api/operations.ts";
import { answerValue } from "./api/value.ts";
import { Events } from "./events/events.ts";
import { Watcher } from "../serving/watcher.ts";
import { hasToken, protectedResponse, refuseForeign, refuseStrangers } from "../serving/guards/guard.ts";
import { randomToken } from "../serving/guards/token.ts";
import { checkInspectorOptions, type InspectorOptions } from "./options.ts";
import { answerPage, builtPage } from "./page/answerPage.ts";
import { Running } from "../serving/running.ts";
import { sharedContext } from "../serving/sharedContext.ts";
import type { Mcp } from "../mcp/index.ts";
import type { Access, Operation } from "../operations/index.ts";
import { version } from "../version.ts";

/** An inspector without a server of its own. */
export interface Inspector {
  /** Answers a request for the page, its files or its API. Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** The token by which requests prove that they come from the page. Append it to the page's address: `#token=…`. */
  readonly token: string;
  /** Aborts what is under way, and ends all streams of events. The saver stays open. */
  end(): void;
}

/**
 * Makes an inspector of a storage, to be mounted at the root of a host. `inspect` serves one on a port of its own.
 * @throws InvalidOptionError
 */
export function createInspector(options: InspectorOptions): Inspector {
  checkInspectorOptions(options);
  const { allow = ["read"], graphs = [], hosts = [], pollMs = 1000 } = options;
  const { token = randomToken(), onError = () => undefined, pageFolder = builtPage() } = options;
  const context = sharedContext(options);
  const { storage = context.origin } = options;
  const running = new Running();
  const events = new Events(new Watcher(context.saver, pollMs));
  const session = sessionOf({ storage, origin: context.origin, allow, graphs });

  const api = new Hono();
  api.use(async ({ req }, next) => {
    refuseStrangers(req.raw, token);
    await next();
  });
  api.get("/_session", () => Response.json(session));
  api.get("/_events", ({ req }) => events.answer(req.raw));
  api.get("/_value", ({ req }) => answerValue(req.raw, context));
  api.all("/:operation", ({ req }) =>
    answerOperation(req.param("operation"), req.raw, { context, allow, running, onError }),
  );
  api.all("*", () => {
    throw new HttpError(404, new StratigraphError("NOT_FOUND", "There is nothing at this address."));
  });

  let mcp: Promise<Mcp> | undefined;
  const mcpOf = (): Promise<Mcp> => (mcp ??= openMcp(options));
  const app = new Hono();
  app.use(async ({ req }, next) => {
    refuseForeign(req.raw, hosts);
    await next();
  });
  app.use("/api/*", async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  app.route("/api", api);
  const serveMcp = async (request: Request, workspace?: string): Promise<Response> =>
    await (await mcpOf()).fetch(request, { trusted: hasToken(request, token), workspace });
  app.all("/mcp", ({ req }) => serveMcp(req.raw));
  app.all("/mcp/workspaces/:name", ({ req }) => serveMcp(req.raw, req.param("name")));
  app.get("*", ({ req }) => answerPage(new URL(req.url).pathname, pageFolder));
  app.notFound(() => new Response("Only GET is answered here.\n", { status: 405 }));
  app.onError((error) => {
    const { status, body } = answerTo(error, context.redact.length > 0);
    if (status === 500) onError(error);
    return Response.json(body, { status, headers: { "cache-control": "no-store" } });
  });
  return {
    token,
    fetch: async (request) => protectedResponse(await app.fetch(request)),
    end: () => {
      running.end();
      events.end();
      void mcp?.then((made) => made.end());
    },
  };
}

/** Loads the MCP server when it is first asked for: it takes a third of a second. */
async function openMcp({
  mcp = {},
  token: _token,
  pageFolder: _folder,
  ...options
}: InspectorOptions): Promise<Mcp> {
  const { createMcp } = await import("../mcp/index.ts");
  return createMcp({ ...options, ...mcp });
}

/** The first data that the page asks for. They are answered while the storage is down, too. */
export interface Session {
  readonly version: string;
  /** Which storage it is, for people. */
  readonly storage: string;
  /** Where the settings came from, for people. */
  readonly origin: string;
  readonly allow: readonly Access[];
  readonly graphs: readonly string[];
  readonly operations: readonly Pick<Operation, "name" | "effect" | "summary">[];
}

/** Describes an inspector to its page. */
function sessionOf(given: Pick<Session, "storage" | "origin" | "allow" | "graphs">): Session {
  const operations = offered.map(({ name, effect, summary }) => ({ name, effect, summary }));
  return { version, ...given, operations };
}
