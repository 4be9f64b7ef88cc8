import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  type McpServer,
  type ServerNotifier,
} from "@modelcontextprotocol/server";
import { InvalidOptionError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { createWorkspace } from "@stratigraph/workspace";
import { answerTo, HttpError } from "../serving/errors.ts";
import { refuseForeign } from "../serving/guards/guard.ts";
import { bodyText } from "../serving/input.ts";
import { Watcher } from "../serving/watcher.ts";
import { clientOf, grantedClient, refuseForeignWorkspace, type Client, type Grant } from "./clients.ts";
import type { McpOptions } from "./options.ts";
import { serveClient, type StdioConnection, type StdioStreams } from "./stdio.ts";
import { checkWatched, wantedIn, watch } from "./subscriptions.ts";

/** Largest request, in bytes: an edited state may be large. */
const mostRequestBytes = 16 * 2 ** 20;

/** How many subscriptions one client may have open over HTTP. */
const mostSubscriptions = 32;

/** How many workspaces and agents are served at once to one client over HTTP: another client still gets its own. */
const mostHandlers = 1000;

/** An MCP server without a server of its own. */
export interface Mcp {
  /**
   * Answers an HTTP request. Never rejects. A client is known by its bearer token.
   * @param options `trusted` answers a request without one: the caller has found out who it is, and it may do all that the server allows.
   * `workspace` serves this workspace, and no threads. The agent in it is the token's name, or the parameter `agent` of a trusted request
   */
  fetch(request: Request, options?: FetchOptions): Promise<Response>;
  /**
   * Serves one client over stdin and stdout.
   * @param grant what it may do; default: all that the server allows. Its name is the agent in a workspace
   * @param workspace serves this workspace, and no threads
   */
  serve(streams: StdioStreams, grant?: Grant, workspace?: string): StdioConnection;
  /** Aborts what is under way. The saver stays open. */
  end(): Promise<void>;
}

/** How a request is answered. */
export interface FetchOptions {
  readonly trusted?: boolean | undefined;
  readonly workspace?: string | undefined;
}

/** What is served to a client. */
interface Scene {
  readonly client: Client;
  /** A workspace in the place of threads, and who acts in it. */
  readonly workspace?: { readonly name: string; readonly agent: string } | undefined;
}

/** What is needed to know clients, and what they wait for. */
type Wiring = Pick<McpOptions, "allow" | "hosts" | "pollMs" | "tokens" | "onError"> & {
  readonly saver: () => Promise<TierSaver>;
};

/** Makes the server of one request, or of one connection over stdio. @param changed tells who subscribed over HTTP of changes */
type Make = (
  scene: Scene,
  context: McpRequestContext,
  overStdio: boolean,
  changed: () => ServerNotifier | undefined,
) => McpServer | Promise<McpServer>;

/** Everything between the wire and a server: who asks, how large requests may be, what is subscribed to. */
export function wired(options: Wiring, make: Make): Mcp {
  const { saver, allow = ["read"], hosts = [], pollMs = 1000, tokens = [] } = options;
  const { onError = () => undefined } = options;
  const handlers = new Map<Client, Map<string, McpHttpHandler>>();
  const clients = new Map(tokens.map((each) => [each.token, grantedClient(each, allow, saver)]));
  const trusted = grantedClient({ name: "trusted", allow }, allow, saver);

  const handlerFor = (scene: Scene): McpHttpHandler => {
    const { client, workspace } = scene;
    const own = handlers.get(client) ?? new Map<string, McpHttpHandler>();
    handlers.set(client, own);
    const name = JSON.stringify([workspace?.name, workspace?.agent]);
    const known = own.get(name);
    if (known !== undefined) return known;
    if (own.size >= mostHandlers) throw tooMany();
    const made: McpHttpHandler = createMcpHandler(
      (context) => make(scene, context, false, () => made.notify),
      {
        onerror: onError,
        maxRequestBodySize: mostRequestBytes,
        maxSubscriptions: mostSubscriptions,
      },
    );
    own.set(name, made);
    return made;
  };

  const answer = async (
    request: Request,
    { trusted: isTrusted = false, workspace }: FetchOptions,
  ): Promise<Response> => {
    refuseForeign(request, hosts);
    const client = clientOf(request.headers, clients) ?? (isTrusted ? trusted : undefined);
    if (client === undefined) throw stranger();
    const scene = { client, workspace: sceneOf(request, client, workspace, client === trusted) };
    // Bad names, and a storage that keeps no workspaces, are told before there is a server for them.
    if (scene.workspace !== undefined)
      createWorkspace(await saver(), scene.workspace.name, { agent: scene.workspace.agent });
    const handler = handlerFor(scene);
    if (request.method !== "POST") return await handler.fetch(request);
    const text = await bodyText(request, mostRequestBytes);
    const { method, headers, signal, url } = request;
    const again = new Request(url, { method, headers, signal, body: text });
    const wanted = wantedIn(parsed(text));
    if (wanted === undefined || wanted.length === 0) return await handler.fetch(again);
    checkWatched(wanted);
    const response = await handler.fetch(again);
    // From now on the client is told: what came before, it reads.
    const stop = watch(watcherOf(client, pollMs), client, wanted, (uri) =>
      handler.notify.resourceUpdated(uri),
    );
    return whenOver(response, signal, stop);
  };

  return {
    fetch: async (request, how = {}) => {
      try {
        return await answer(request, how);
      } catch (error) {
        return refusal(error, onError);
      }
    },
    serve: (streams, grant = { name: "stdio", allow }, workspace = undefined) => {
      const client = grantedClient(grant, allow, saver);
      if (workspace !== undefined) refuseForeignWorkspace(client, workspace);
      const inIt = workspace === undefined ? undefined : { name: workspace, agent: grant.name };
      const server = async (context: McpRequestContext): Promise<McpServer> =>
        await make({ client, workspace: inIt }, context, true, () => undefined);
      return serveClient(streams, client, watcherOf(client, pollMs), server, onError);
    },
    end: async () => {
      await Promise.all(
        [...handlers.values()].flatMap((own) => [...own.values()].map((each) => each.close())),
      );
    },
  };
}

const watchers = new WeakMap<Client, Watcher>();

/** One watcher looks at the threads of all subscriptions of a client. */
function watcherOf(client: Client, pollMs: number): Watcher {
  const known = watchers.get(client) ?? new Watcher(client.saver, pollMs);
  watchers.set(client, known);
  return known;
}

/** The workspace that is asked for, and who acts in it. @throws StratigraphError "ACCESS_DENIED", InvalidOptionError */
function sceneOf(
  request: Request,
  client: Client,
  name: string | undefined,
  isTrusted: boolean,
): Scene["workspace"] {
  if (name === undefined) return undefined;
  refuseForeignWorkspace(client, name);
  if (!isTrusted) return { name, agent: client.name };
  const agent = new URL(request.url).searchParams.get("agent");
  if (agent !== null && agent !== "") return { name, agent };
  throw new InvalidOptionError("agent", "nothing", "Say who acts in the workspace: ?agent=planner.");
}

function tooMany(): StratigraphError {
  const message = `${mostHandlers} workspaces and agents are served already. Give each agent a token of its own, or start another server.`;
  return new StratigraphError("OVERLOADED", message);
}

function stranger(): HttpError {
  const message =
    "Send a bearer token that this server knows (Authorization: Bearer …). The config names tokens under mcp.tokens; the inspector prints its own.";
  return new HttpError(401, new StratigraphError("ACCESS_DENIED", message));
}

/** An answer to a request that never reached the protocol. */
function refusal(error: unknown, onError: (error: unknown) => void): Response {
  const { status, body } = answerTo(error, true);
  if (status === 500) onError(error);
  const { code, message } = body.error;
  const told = {
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_600, message: `${code}: ${message}`, data: { code } },
  };
  return Response.json(told, {
    status,
    headers: { "cache-control": "no-store", ...(status === 401 ? { "www-authenticate": "Bearer" } : {}) },
  });
}

/** Calls a function once, when the client has all of a response or is gone. */
function whenOver(response: Response, signal: AbortSignal, over: () => void): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    over();
    return response;
  }
  if (signal.aborted) over();
  signal.addEventListener("abort", over, { once: true });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      over();
      controller.close();
    },
    async cancel(reason) {
      over();
      await reader.cancel(reason);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

/** Undefined if it isn't JSON: then the protocol answers. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
