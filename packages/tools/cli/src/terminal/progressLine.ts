import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { TraceEvent } from "stratigraph";
import type { Progress } from "../operations/index.ts";
import { shown } from "../operations/render/columns.ts";
import { timeText } from "../operations/render/units.ts";
import { isTty, type Terminal } from "./terminal.ts";

/** How often the line is redrawn on a terminal, and how often one is written elsewhere. In milliseconds. */
const redrawMs = 100;
const reportMs = 10_000;

/** After how long without other output the line says what the command waits for. In milliseconds. */
const silenceMs = 1000;

type Retry = Extract<TraceEvent, { readonly type: "retry" }>;

/**
 * Shows an operation's progress on stderr: on a terminal one line that is redrawn, elsewhere a line every ten seconds.
 * It isn't a spinner of clack: that reads the keyboard itself and ends the process at Ctrl-C, but the thread under way has to be finished.
 */
export class ProgressLine {
  readonly #terminal: Terminal;
  readonly #startedAt = performance.now();
  #shownAt: number | undefined;
  #drawn = false;
  #silence: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /**
   * Says what the command waits for, unless something else is shown soon. If a storage doesn't answer, says that, and for how long it is
   * asked again. Without such a retry, writes the line only on a terminal.
   */
  waitFor(what: string): void {
    let retry: Retry | undefined;
    let isSilent = false;
    let isTold = false;
    const onTerminal = isTty(this.#terminal.stderr);
    const tell = (): void => {
      if (!isSilent) return;
      const line = waitingText(what, retry);
      if (onTerminal) this.#draw(line);
      else if (retry !== undefined && !isTold) this.#terminal.stderr.write(`${line}\n`);
      isTold ||= retry !== undefined;
    };
    const listen = (event: unknown): void => {
      if ((event as TraceEvent).type !== "retry") return;
      retry = event as Retry;
      tell();
    };
    subscribe("stratigraph", listen);
    this.#stopListening = () => void unsubscribe("stratigraph", listen);
    this.#silence = setTimeout(() => {
      isSilent = true;
      tell();
    }, silenceMs).unref();
  }

  /** Shows the progress, unless the last line was too short a time ago. */
  update(progress: Progress): void {
    this.#endWaiting();
    const now = performance.now();
    const { stderr } = this.#terminal;
    const onTerminal = isTty(stderr);
    // On a terminal the first line appears at once. In a log, an operation that ends quickly needs none.
    const lastAt = this.#shownAt ?? (onTerminal ? Number.NEGATIVE_INFINITY : this.#startedAt);
    if (now - lastAt < (onTerminal ? redrawMs : reportMs)) return;
    this.#shownAt = now;
    const line = this.#text(progress, now - this.#startedAt);
    if (!onTerminal) stderr.write(`${line}\n`);
    else this.#draw(line);
  }

  #draw(line: string): void {
    const { stderr } = this.#terminal;
    const width = (stderr as { columns?: number }).columns ?? 80;
    stderr.write(`\r\u001b[2K${line.slice(0, width - 1)}`);
    this.#drawn = true;
  }

  /** Removes the line. */
  end(): void {
    this.#endWaiting();
    if (this.#drawn) this.#terminal.stderr.write("\r\u001b[2K");
    this.#drawn = false;
  }

  #endWaiting(): void {
    clearTimeout(this.#silence);
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #text({ done, total, unit, at }: Progress, ms: number): string {
    const rate = done / Math.max(ms / 1000, 0.001);
    const of = total === undefined ? "" : ` of ${total}`;
    const left =
      total === undefined || done === 0 ? "" : `, ${timeText(((total - done) / rate) * 1000)} left`;
    const speed = `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/s`;
    return `${done}${of} ${unit}, ${speed}${left}${at === undefined ? "" : `: ${shown(at)}`}`;
  }
}

function waitingText(what: string, retry: Retry | undefined): string {
  if (retry === undefined) return `Waiting for ${shown(what)} …`;
  const code = (retry.error as { code?: unknown } | null)?.code;
  const why = typeof code === "string" ? ` (${shown(code)})` : "";
  const atMost = timeText(retry.forMs);
  return `Waiting for ${shown(what)}: it doesn't answer${why}, and is asked again for ${atMost} at most`;
}
