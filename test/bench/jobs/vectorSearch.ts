import { Embeddings } from "@langchain/core/embeddings";
import { createStore } from "stratigraph";
import { randomNumbers } from "../randomNumbers.ts";
import { median } from "../stats.ts";

/** Input of the job. */
export interface VectorSearchInput {
  readonly config: { readonly postgres: string } | { readonly pglite: string } | { readonly memory: true };
  readonly items: number;
  readonly dims: number;
  readonly searches: number;
}

/** Times in milliseconds. */
export interface VectorSearchResult {
  readonly fillMs: number;
  /** Below a prefix of 1,000 items, and of all; medians. */
  readonly someMs: number;
  readonly allMs: number;
}

/** How many items are put together, in a namespace of their own. */
const together = 1000;

/** Random vectors, whatever the text is. */
class RandomEmbeddings extends Embeddings {
  readonly #random = randomNumbers(7);
  readonly #dims: number;

  constructor(dims: number) {
    super({});
    this.#dims = dims;
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return await Promise.all(texts.map(() => this.embedQuery()));
  }

  override async embedQuery(): Promise<number[]> {
    return Array.from({ length: this.#dims }, () => this.#random() - 0.5);
  }
}

/** Fills a store with vectors and searches it. */
export async function job({ config, items, dims, searches }: VectorSearchInput): Promise<VectorSearchResult> {
  await using store = await createStore(config, { index: { dims, embeddings: new RandomEmbeddings(dims) } });
  const start = performance.now();
  for (let first = 0; first < items; first += together)
    await store.batch(
      Array.from({ length: together }, (_, n) => ({
        namespace: ["users", `u${first / together}`],
        key: `k${n}`,
        value: { text: `item ${first + n}` },
      })),
    );
  const fillMs = performance.now() - start;
  const searched = async (prefix: (n: number) => string[]): Promise<number> => {
    const times: number[] = [];
    for (let n = 0; n < searches; n += 1) {
      const began = performance.now();
      const found = await store.search(prefix(n), { query: "anything" });
      times.push(performance.now() - began);
      if (found.length !== 10 || found[0]!.score === undefined) throw new Error("the search found nothing");
    }
    return median(times);
  };
  const someMs = await searched((n) => ["users", `u${n % (items / together)}`]);
  return { fillMs, someMs, allMs: await searched(() => ["users"]) };
}
