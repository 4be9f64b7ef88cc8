import { StratigraphError } from "@stratigraph/core";

/** How many bytes wait at most for a client that reads slowly. */
const mostWaiting = 16 * 2 ** 20;

/** How often something is sent while nothing happens, in milliseconds, so that a lost connection is noticed. */
const heartbeatMs = 15_000;

/** Server-sent events to one client. */
export class EventStream {
  readonly response: Response;
  readonly #encoder = new TextEncoder();
  readonly #heartbeat: NodeJS.Timeout;
  readonly #onEnd: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #isOpen = true;

  /**
   * @param onEnd called once, when the client is gone or {@link end} was called
   * @param beatMs how often something is sent while nothing happens, in milliseconds
   */
  constructor(onEnd: () => void, beatMs = heartbeatMs) {
    this.#onEnd = onEnd;
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#ended(),
      },
      { highWaterMark: mostWaiting, size: (chunk) => chunk!.length },
    );
    this.#heartbeat = setInterval(() => this.#write(": still here\n\n"), beatMs).unref();
    this.response = new Response(stream, {
      headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" },
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether the client took everything that was sent so far. */
  get isIdle(): boolean {
    return (this.#controller.desiredSize ?? 0) >= mostWaiting;
  }

  /** Sends an event. Its data take one line: JSON.stringify writes no line breaks. */
  send(event: string, data: unknown): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Ends the stream. May be called again. */
  end(): void {
    if (!this.#isOpen) return;
    this.#controller.close();
    this.#ended();
  }

  #write(text: string): void {
    if (!this.#isOpen) return;
    if ((this.#controller.desiredSize ?? 0) <= 0) {
      const message = "The client reads more slowly than events come, and too many of them wait.";
      this.#controller.error(new StratigraphError("OVERLOADED", message));
      this.#ended();
      return;
    }
    this.#controller.enqueue(this.#encoder.encode(text));
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearInterval(this.#heartbeat);
    this.#onEnd();
  }
}
