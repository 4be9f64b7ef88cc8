import { randomUUID } from "node:crypto";
import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, trace } from "@stratigraph/core/internal";
import type { PlainCallContext } from "../callFront.ts";
import { outsideCalls } from "../calls/currentCall.ts";
import { checkCallOptions, checkDeclared, checkToolName, optionsOf } from "../calls/checkCallOptions.ts";
import { canonical } from "../identity/canonical.ts";
import type { McpJournal, WrapServerOptions } from "./options.ts";
import {
  asResult,
  nameIn,
  registeredTools,
  requestIn,
  textResult,
  type Callback,
  type McpContext,
  type McpServerLike,
  type RegisteredTool,
  type ToolResult,
} from "./server.ts";
import { snapshot } from "./snapshots.ts";
import { canElicit, questionFor, takeAnswer, unknownIn, unknownResult } from "./unknown.ts";

/** How the run of a call begins to which its client gave no name. */
const unnamed = "request ";

/** A tool asks its client for something in place of ending: by its result, or by an error. */
class Stopped extends Error {
  readonly is_bubble_up = true;

  constructor(readonly asks: { readonly result: unknown } | { readonly error: unknown }) {
    super("The tool asks its client for input.");
  }
}

const toldName = "ToolError";

/** The code of the protocol's error by which a tool asks its client to open a page. */
const urlElicitationRequired = -32042;

/** A failure that the tool itself reported: nothing happened. The journal keeps the result. */
class ToldFailure extends Error {
  readonly certain = true;

  constructor(readonly told: ToolResult) {
    super(JSON.stringify(told.content ?? null).slice(0, 2000));
    this.name = toldName;
  }
}

/**
 * Lets all tool calls of an MCP server go through a journal: of the tools that are registered, and of those that are registered later. A
 * client that names its call, by `_meta: { "dev.stratigraph/call": name }`, gets the recorded result when it repeats the call; without a name each request is a
 * call of its own. A call whose outcome is unknown isn't repeated: the client gets an error that says what a person has to do.
 * @param server an `McpServer`; it is changed. With a factory of servers, wrap each
 * @returns the server
 * @throws InvalidOptionError; `registerTool` throws it for a tool without effects
 */
export function wrapServer<Server extends McpServerLike, Context = McpContext>(
  server: Server,
  options: WrapServerOptions<Context>,
): Server {
  checkAll(server, options as WrapServerOptions);
  if (wrapped.has(server))
    throw new InvalidOptionError("server", "a wrapped server", "Wrap each server once.");
  const calls = new ServerCalls(server, options as WrapServerOptions);
  const before = registeredTools(server);
  for (const [name, tool] of Object.entries(before)) calls.check(name, tool.annotations);
  for (const [name, tool] of Object.entries(before)) {
    tool.update({ callback: calls.wrap(name, tool.handler) });
    calls.watch(name, tool);
  }
  wrapped.add(server);
  // `tool` is the older way of generation 1.
  for (const method of ["registerTool", "tool"] as const) {
    const own = (server as unknown as Record<string, Callback | undefined>)[method];
    if (own === undefined) continue;
    const register = (name: string, ...given: unknown[]): unknown => {
      const callback = given.pop();
      if (typeof callback !== "function")
        throw new InvalidOptionError(`tools.${name}`, callback, "Pass the tool's function.");
      const described = given.map((each) => Object(each) as { annotations?: unknown });
      calls.check(name, described.find(({ annotations }) => annotations !== undefined)?.annotations);
      const tool = own.call(server, name, ...given, calls.wrap(name, callback as Callback));
      calls.watch(name, tool as RegisteredTool);
      return tool;
    };
    Object.assign(server, { [method]: register });
  }
  return server;
}

const wrapped = new WeakSet<object>();

/** The calls of one server. */
class ServerCalls {
  readonly #server: object;
  readonly #options: WrapServerOptions;

  constructor(server: object, options: WrapServerOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** @throws InvalidOptionError if nobody said what a repetition of a tool's calls would do */
  check(name: string, annotations: unknown): void {
    checkToolName("tools", name);
    checkDeclared(`tools.${name}`, this.#ofTool(name), annotations);
  }

  /** Wraps the callbacks with which a tool is updated later. */
  watch(name: string, tool: RegisteredTool): void {
    const update = tool.update.bind(tool);
    const wrap = (callback: Callback): Callback => this.wrap(name, callback);
    tool.update = (updates) => {
      const { callback } = updates;
      update(callback === undefined ? updates : { ...updates, callback: wrap(callback) });
    };
  }

  /** A callback of a tool whose calls go through the journal. */
  wrap(tool: string, callback: Callback): Callback {
    return async (...given) => {
      const context = given.at(-1) as McpContext;
      const args = given.length > 1 ? given[0] : {};
      const { journal, elicit = false } = this.#options;
      const threadId = await this.#threadOf(context);
      if (elicit) {
        const found = await takeAnswer(journal, threadId, context);
        if (found !== undefined) return found;
      }
      try {
        const work = (): unknown => callback(...given);
        return await outsideCalls(() => this.#make(tool, args, threadId, context, work));
      } catch (error) {
        if (error instanceof Stopped) {
          if ("error" in error.asks) throw error.asks.error;
          return error.asks.result;
        }
        const told = toldIn(error);
        if (told !== undefined) return told;
        const unknown = unknownIn(error);
        if (unknown === undefined) throw error;
        if (elicit && canElicit(this.#server, context)) return questionFor(unknown);
        return unknownResult(unknown, (error as Error).message);
      }
    };
  }

  async #make(
    tool: string,
    args: unknown,
    threadId: string,
    context: McpContext,
    work: () => unknown,
  ): Promise<unknown> {
    const { journal, state } = this.#options;
    const { checkpointer } = journal;
    const name = nameIn(context);
    const run = name ?? recordedRequest(journal, tool, args) ?? `${unnamed}${randomUUID()}`;
    const options = optionsOf(this.#ofTool(tool));
    const isStored = state !== undefined && checkpointer !== undefined;
    const checkpoint = isStored ? await snapshot(checkpointer, threadId, state, { tool }) : undefined;
    let ran = false;
    const config = {
      // The context is for the journal's option `author`.
      configurable: { thread_id: threadId, mcp: context, checkpoint_map: { "": checkpoint } },
      signal: requestIn(context).signal,
      runId: run,
    };
    // Two tools that get the same name are called twice.
    const id = JSON.stringify([tool, ...(name === undefined ? [null] : []), run]);
    const made = async ({ fingerprint }: PlainCallContext): Promise<unknown> => {
      ran = true;
      try {
        // The same name asks a read that failed again; without a name, the record may have the failure whole.
        return endOf(await work(), options.effects === "none" && name === undefined);
      } catch (error) {
        const { code } = Object(error) as { code?: unknown };
        throw code === urlElicitationRequired ? new Stopped({ error }) : error;
      } finally {
        if (isStored)
          await this.#after(() => snapshot(checkpointer, threadId, state, { tool, call: fingerprint }));
      }
    };
    const result = await journal.run(config, { ...options, id, tool, args }, made);
    return ran ? result : asResult(result);
  }

  /** What happens after a call doesn't change its outcome. */
  async #after(stored: () => Promise<unknown>): Promise<void> {
    try {
      await stored();
    } catch (error) {
      trace({ type: "hook", hook: "journal", error });
    }
  }

  async #threadOf(context: McpContext): Promise<string> {
    const { thread } = this.#options;
    const found = typeof thread === "function" ? await thread(context) : thread;
    if (typeof found === "string" && found !== "") return found;
    throw new InvalidOptionError("thread", found, "Return the id of the thread that has the calls.");
  }

  #ofTool(name: string): WrapServerOptions["tools"][string] | undefined {
    const { tools } = this.#options;
    return Object.hasOwn(tools, name) ? tools[name] : undefined;
  }
}

/** The failure that a tool reported: now, or when it was recorded. */
function toldIn(error: unknown): ToolResult | undefined {
  if (error instanceof ToldFailure) return error.told;
  const { name, message } = Object(error) as { name?: unknown; message?: unknown };
  if (name !== toldName) return undefined;
  try {
    return { content: JSON.parse(String(message)) as unknown, isError: true };
  } catch {
    return { ...textResult(String(message)), isError: true };
  }
}

/** The value with which a call ends. @throws Stopped, ToldFailure */
function endOf(result: unknown, keepsFailures: boolean): unknown {
  const { isError, resultType } = Object(result) as ToolResult;
  if (resultType === "input_required") throw new Stopped({ result });
  if (isError === true && !keepsFailures) throw new ToldFailure(result as ToolResult);
  return result;
}

/** Requests without a name that replays served. */
const served = new WeakMap<object, Set<string>>();

/** The next recorded request without a name that made this call; undefined if it isn't a replay, or there is none. */
function recordedRequest(journal: McpJournal, tool: string, args: unknown): string | undefined {
  if (journal.unused === undefined) return undefined;
  const ofReplay = served.get(journal) ?? new Set<string>();
  served.set(journal, ofReplay);
  const text = canonical(args);
  const found = journal.unused().find(({ tool: made, args: then, where: { run = "" } }) => {
    if (made !== tool || !run.startsWith(unnamed) || ofReplay.has(run)) return false;
    return then !== undefined && canonical(then) === text;
  })?.where.run;
  if (found !== undefined) ofReplay.add(found);
  return found;
}

/** @throws InvalidOptionError */
function checkAll(server: unknown, options: WrapServerOptions): void {
  if (typeof (Object(server) as Partial<McpServerLike>).registerTool !== "function")
    throw new InvalidOptionError("server", server, "Pass an McpServer of the MCP SDK.");
  checkOptions<WrapServerOptions>("wrapServer", options, {
    journal: true,
    thread: true,
    tools: true,
    state: true,
    elicit: true,
  });
  const { journal, thread, tools, state, elicit } = Object(options) as Partial<WrapServerOptions>;
  if (typeof (Object(journal) as Partial<McpJournal>).run !== "function")
    throw new InvalidOptionError("journal", journal, "Pass what createJournal() made, or a replay.");
  if (typeof thread !== "function" && (typeof thread !== "string" || thread === ""))
    throw new InvalidOptionError(
      "thread",
      thread,
      "Pass a thread's id, or a function of a request's context.",
    );
  if (typeof tools !== "object" || tools === null)
    throw new InvalidOptionError("tools", tools, 'Pass { name of a tool: "none", "idempotent" or "once" }.');
  for (const [name, own] of Object.entries(tools)) checkCallOptions(`tools.${name}`, optionsOf(own));
  if (state !== undefined && typeof state !== "function")
    throw new InvalidOptionError("state", state, "Pass a function that returns the server's state.");
  if (elicit !== undefined && typeof elicit !== "boolean")
    throw new InvalidOptionError("elicit", elicit, "Pass true or false.");
}
