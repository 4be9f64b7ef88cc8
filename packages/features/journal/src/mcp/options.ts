import type { TierSaver } from "@stratigraph/core";
import type { PlainCall, PlainCallContext } from "../callFront.ts";
import type { Digest } from "../identity/fingerprint.ts";
import type { Where } from "../log/entry.ts";
import type { ToolOptions } from "../options.ts";
import type { ResolveOptions } from "../trail/operator.ts";
import type { McpContext } from "./server.ts";

/** What is needed of a journal, or of a replay. */
export interface McpJournal {
  /** Absent in a replay. */
  readonly checkpointer?: TierSaver;
  run<R>(config: unknown, call: PlainCall, work: (context: PlainCallContext) => R | Promise<R>): Promise<R>;
  resolve?(fingerprint: Digest, options: ResolveOptions): Promise<void>;
  unused?(): readonly { readonly tool: string; readonly args: unknown; readonly where: Where }[];
}

/** Options of {@link wrapServer}. */
export interface WrapServerOptions<Context = McpContext> {
  /** The journal that the calls go through; or a replay, from which they get the recorded results. */
  readonly journal: McpJournal;
  /** The thread whose journal has the calls, or a function that gets it from a request's context. */
  readonly thread: string | ((context: Context) => string | Promise<string>);
  /**
   * What a repetition of each tool's calls would do, by the names under which the tools are registered. Each tool needs an entry: its own
   * annotations are only a proposal.
   */
  readonly tools: Readonly<Record<string, ToolOptions>>;
  /**
   * The state of the server, an object of JSON. It is stored as a checkpoint of the thread before and after each call, if it has changed
   * since the last one. The thread then has to be the server's own. Default: no checkpoints.
   */
  readonly state?: (() => object | Promise<object>) | undefined;
  /**
   * Ask the client's user whether a call happened whose outcome is unknown, if the client can ask. Whoever calls the server then decides
   * about its calls. Default false: the client gets an error that says how to answer.
   */
  readonly elicit?: boolean | undefined;
}
