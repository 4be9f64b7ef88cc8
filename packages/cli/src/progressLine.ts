import { shown, timeText, type Progress } from "@stratigraph/operations";
import { isTty, type Terminal } from "./terminal.ts";

/** How often the line is drawn anew on a terminal, and written elsewhere. In milliseconds. */
const redrawMs = 100;
const reportMs = 10_000;

/** After how long a terminal is told what is waited for, where nothing else was told. In milliseconds. */
const silenceMs = 2000;

/**
 * Shows how far an operation is, on stderr: one line that is drawn anew on a terminal, and a line every ten seconds elsewhere.
 * It isn't a spinner of clack, which reads the keyboard itself and ends the process at Ctrl-C: the thread under way is to be finished.
 */
export class ProgressLine {
  readonly #terminal: Terminal;
  readonly #startedAt = performance.now();
  #shownAt: number | undefined;
  #drawn = false;
  #silence: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Says on a terminal what is waited for, unless something else is shown soon. */
  waitFor(what: string): void {
    if (!isTty(this.#terminal.stderr)) return;
    this.#silence = setTimeout(() => this.#draw(`Waiting for ${shown(what)} …`), silenceMs).unref();
  }

  /** Takes note of how far it is. */
  update(progress: Progress): void {
    clearTimeout(this.#silence);
    const now = performance.now();
    const { stderr } = this.#terminal;
    const onTerminal = isTty(stderr);
    // On a terminal the first line comes at once; what is quickly done needs none in a log.
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

  /** Takes the line away. */
  end(): void {
    clearTimeout(this.#silence);
    if (this.#drawn) this.#terminal.stderr.write("\r\u001b[2K");
    this.#drawn = false;
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
