import { StratigraphError } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import type { Context } from "../operations/index.ts";
import type { Running } from "../serving/running.ts";
import { answerTo } from "../serving/errors.ts";
import { threadsIn, type Client } from "./clients.ts";
import type { McpSettings } from "./settings.ts";

/** How long a call may take, in milliseconds. A run has a limit of its own, which is shorter. */
const longestCallMs = 15 * 60_000;

/** How many characters of an id an audit entry has at most. */
const longestId = 300;

/** What all calls of one server share. */
export interface CallHost {
  readonly running: Running;
  /** Called when a call has ended. */
  readonly ended: () => void;
  readonly audit: McpSettings["audit"];
  readonly onError: (error: unknown) => void;
  /** Whether messages of errors that aren't ours are hidden, because they may repeat redacted values. */
  readonly hidesTexts: boolean;
}

/** What the calls of one client share. */
export interface ToolHost extends CallHost {
  /** The part of an operation's context that all calls of this client share. */
  readonly context: Omit<Context, "signal" | "progress" | "emit">;
  readonly client: Client;
}

/** The context of one call. */
export function contextOf(
  { context }: ToolHost,
  signal: AbortSignal,
  progress: Context["progress"] = () => undefined,
): Context {
  return { ...context, signal, progress };
}

/** A call that ends as planned, but differently from "ok" for the audit. */
export interface Told<R> {
  readonly result: R;
  readonly outcome: string;
}

/**
 * Does what a client asks for, within the limits, and writes the audit entry before anything is answered.
 * @throws StratigraphError "OVERLOADED", "CLOSED"; what the work throws; what the audit throws
 */
export async function audited<R>(
  host: CallHost,
  client: Client,
  asked: string,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Told<R>>,
): Promise<R> {
  const begun = performance.now();
  const entry = {
    at: new Date().toISOString(),
    client: client.name,
    asked: asked.slice(0, longestId),
    about: aboutOf(input).map((text) => text.slice(0, longestId)),
  };
  const write = async (outcome: string): Promise<void> => {
    try {
      await host.audit?.({ ...entry, outcome, ms: Math.round(performance.now() - begun) });
    } catch (error) {
      const message = `The call was carried out (${outcome}), but its audit entry can't be written: ${messageOf(error)}. Don't repeat it: tell the person who runs this server.`;
      throw new StratigraphError("MISCONFIGURED", message, { outcome }, error);
    }
  };
  let told: Told<R>;
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(longestCallMs)]);
    told = await host.running.run(limit, work).finally(host.ended);
  } catch (error) {
    await write(shownError(host, error).code);
    throw error;
  }
  await write(told.outcome);
  return told.result;
}

/** What a call names: threads, checkpoints, an item of a workspace. */
function aboutOf(input: Readonly<Record<string, unknown>>): string[] {
  const { namespace, key } = input;
  const item = Array.isArray(namespace) && typeof key === "string" ? [[...namespace, key].join("/")] : [];
  return [...threadsIn(input).map(({ text }) => text), ...item];
}

/** An error as clients get it: a code and a sentence that says what to do, without values. */
export interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly fields?: readonly { readonly path: string; readonly expected: string }[];
  readonly help?: string;
}

/** Describes an error to a client, and reports it if it is none of ours. */
export function shownError(host: CallHost, error: unknown): ShownError {
  const { status, body } = answerTo(error, host.hidesTexts);
  if (status === 500 && !StratigraphError.is(error)) host.onError(error);
  return { ...body.error, message: asTools(body.error.message) };
}

/** Errors name commands of the terminal: here they are tools of the same names. */
function asTools(message: string): string {
  return message.replaceAll(/"stratigraph ([a-z]+)[^"]*"/g, '"$1"');
}
