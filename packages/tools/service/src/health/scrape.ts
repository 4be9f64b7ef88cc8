import { answerWithin } from "@stratigraph/core/internal";

/** Metrics as text, for example by `@stratigraph/service`. */
export interface RenderedMetrics {
  /** For example "text/plain; version=0.0.4". */
  readonly contentType: string;
  readonly body: string;
}

/** How long rendering may take, in milliseconds: Prometheus gives up after 10 seconds by default. */
const renderMs = 5000;

/** Renders metrics. Requests that come meanwhile share the result. */
export class Scrape {
  readonly #render: () => Promise<RenderedMetrics>;
  #rendering: Promise<RenderedMetrics> | undefined;

  constructor(render: () => Promise<RenderedMetrics>) {
    this.#render = render;
  }

  /** @throws what rendering throws, and an Error if it takes too long */
  async text(): Promise<RenderedMetrics> {
    this.#rendering ??= Promise.resolve()
      .then(this.#render)
      .finally(() => (this.#rendering = undefined));
    const rendering = this.#rendering;
    return await answerWithin(
      renderMs,
      () => rendering,
      () => new Error(`rendering metrics took more than ${renderMs} ms`),
    );
  }
}
