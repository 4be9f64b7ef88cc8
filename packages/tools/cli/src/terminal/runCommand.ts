import {
  runOperation,
  type Operation,
  type OutputOf,
  type Progress,
  type RunEvent,
} from "../operations/index.ts";
import { staysDry } from "../operations/table/staysDry.ts";
import { StratigraphError } from "stratigraph";
import { askAnswers } from "./askAnswers.ts";
import { confirmDestruction } from "./confirm.ts";
import { exitCodes, type ExitCode } from "./exitCodes.ts";
import { inContext, type OpenedContext } from "./openContext.ts";
import { ProgressLine } from "./progressLine.ts";
import { RunLines } from "./runLines.ts";
import { formatOf, type Format, type Settings } from "./settings.ts";
import { storageText } from "./storageText.ts";
import { canAsk, writeLine, type Terminal } from "./terminal.ts";

/** The fields that the command line reads in the output of operations that have pages, or can be interrupted. */
interface PagedOutput {
  readonly items?: readonly unknown[];
  readonly cursor?: string;
  readonly complete?: boolean;
}

/**
 * Runs the command of an operation, and writes its result.
 * @param given the input as it was typed
 * @throws what the operation throws
 */
export async function runCommand(
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  settings: Settings,
  terminal: Terminal,
): Promise<ExitCode> {
  const line = settings.quiet === true ? undefined : new ProgressLine(terminal);
  const events = settings.quiet === true ? undefined : new RunLines(terminal, () => line?.end());
  const isDry = staysDry(operation, given);
  const options = {
    terminal,
    settings,
    effect: isDry ? ("read" as const) : operation.effect,
    graphFiles: true,
    progress: (progress: Progress) => line?.update(progress),
    ...(events === undefined ? {} : { emit: (event: RunEvent) => events.take(event) }),
  };
  const work = async (opened: OpenedContext, signal: AbortSignal): Promise<ExitCode> => {
    const format = formatOf(settings);
    const config = await opened.config();
    const { allow, origin } = config;
    line?.waitFor(storageText(config));
    refuseForbidden(operation, settings, allow.cli, origin, isDry);
    const asks = operation.effect === "destroy" && !isDry && settings.yes !== true;
    if (asks) {
      const planned = await runOperation(operation, { ...given, dryRun: true }, opened.context);
      line?.end();
      if (operation.isIdle?.(planned as never, given) === true) {
        await write(operation, planned as PagedOutput, format, terminal);
        return exitCodes.done;
      }
      if (!(await confirmDestruction(operation, planned, terminal))) return exitCodes.failed;
    }
    // The format jsonl writes all pages, unless a limit was given.
    const isWhole = format === "jsonl" && given["limit"] === undefined;
    const isAll = settings.allPages === true || operation.endless === true || isWhole;
    const asksAnswers = operation.name === "run" && format === "table" && !isDry && canAsk(terminal);
    let found = false;
    let last: PagedOutput = {};
    for (let input: typeof given | undefined = given; input !== undefined;) {
      for await (const output of pagesOf(operation, input, opened.context, isAll)) {
        line?.end();
        events?.end();
        await write(operation, output, format, terminal);
        // After an answer, what counts is where the run is now.
        found = (operation.found?.(output as never) ?? false) || (found && operation.name !== "run");
        last = output;
      }
      input = asksAnswers && !signal.aborted ? await answeredBy(input, last, terminal) : undefined;
    }
    if (last.complete === false && signal.aborted) {
      // A table has already said this.
      const how = last.cursor === undefined ? "" : ` with --cursor ${last.cursor}`;
      if (format !== "table")
        await writeLine(terminal.stderr, `Interrupted. The same command continues${how}`);
      return exitCodes.interrupted;
    }
    return found ? exitCodes.found : exitCodes.done;
  };
  try {
    return await inContext(options, () => line?.end(), work);
  } finally {
    line?.end();
    events?.end();
  }
}

/** The input by which a run goes on with what the person at the terminal answers; undefined if nothing waits, or they don't answer now. */
async function answeredBy(
  given: Readonly<Record<string, unknown>>,
  output: PagedOutput,
  terminal: Terminal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { interrupts } = output as OutputOf<"run">;
  if (interrupts.length === 0) return undefined;
  const resume = await askAnswers(interrupts, terminal);
  if (resume === undefined) return undefined;
  const { input: _input, checkpoint: _checkpoint, create: _create, ...others } = given;
  return { ...others, at: (output as OutputOf<"run">).thread, resume };
}

async function* pagesOf(
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  context: Parameters<Operation["run"]>[1],
  all: boolean,
): AsyncGenerator<PagedOutput> {
  const walked = all ? { ...operation.whole, ...given } : given;
  let input = walked;
  for (;;) {
    const output = (await runOperation(operation, input, context)) as PagedOutput;
    yield output;
    // If there is `complete`, the cursor is where the operation was interrupted, and there are no further pages.
    const hasMore =
      output.items !== undefined && output.cursor !== undefined && output.complete === undefined;
    if (!all || !hasMore || context.signal.aborted) return;
    input = { ...walked, cursor: output.cursor };
  }
}

async function write(
  operation: Operation,
  output: PagedOutput,
  format: Format,
  terminal: Terminal,
): Promise<void> {
  const { stdout } = terminal;
  if (format === "json") await writeLine(stdout, JSON.stringify(output, null, 2));
  else if (format === "jsonl")
    for (const item of output.items ?? [output]) await writeLine(stdout, JSON.stringify(item));
  else for (const text of operation.render(output as never)) await writeLine(stdout, text);
}

/** @throws StratigraphError "ACCESS_DENIED" */
function refuseForbidden(
  { name, effect }: Operation,
  settings: Settings,
  allowed: readonly string[],
  origin: string,
  isDry: boolean,
): void {
  if (isDry || effect === "read") return;
  const by =
    settings.readOnly === true
      ? "--read-only or STRATIGRAPH_READ_ONLY is set"
      : allowed.includes(effect)
        ? undefined
        : `allow.cli in ${origin} lacks "${effect}"`;
  if (by === undefined) return;
  const hint = effect === "destroy" ? " With --dry-run it only tells what it would delete." : "";
  throw new StratigraphError("ACCESS_DENIED", `${name} would change something, and ${by}.${hint}`, {
    operation: name,
  });
}
