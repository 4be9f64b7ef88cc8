import type { IndexConfig } from "@langchain/langgraph-checkpoint";
import { answerWithin } from "../contract/answerWithin.ts";
import { checkOptions, kindOf, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError, StratigraphError } from "../contract/errors.ts";
import { partsOf, textsAt } from "./textPaths.ts";

const names: OptionNames<IndexConfig> = { dims: true, embeddings: true, fields: true };

const advice = { embed: "Write embeddings." };

/** pgvector's limit. */
const mostDims = 16_000;

/** How many texts of one item have vectors at most. */
const mostTexts = 1000;

/** How long embeddings may take for a call, in milliseconds. They have time limits and repetitions of their own, which end sooner. */
const longestMs = 300_000;

/** What a store's `index` makes: which texts of a value have vectors, and the vectors. */
export class ItemIndex {
  readonly #config: IndexConfig;
  readonly #fields: readonly string[];

  /** @throws InvalidOptionError */
  constructor(config: IndexConfig) {
    checkOptions("index", config, names, advice, "index");
    const { dims, embeddings, fields = ["$"] } = config;
    if (!Number.isSafeInteger(dims) || dims < 1 || dims > mostDims)
      throw new InvalidOptionError(
        "index.dims",
        shown(dims),
        `Pass how many numbers the embeddings give for a text, at most ${mostDims}.`,
      );
    if (typeof embeddings?.embedDocuments !== "function" || typeof embeddings.embedQuery !== "function")
      throw new InvalidOptionError(
        "index.embeddings",
        kindOf(embeddings),
        "Pass LangChain's Embeddings, for example new OpenAIEmbeddings().",
      );
    this.#config = config;
    this.#fields = checkedFields("index.fields", fields);
  }

  /**
   * The texts of a value that are to have vectors, each once.
   * @param fields the `index` of a put: false for none
   * @throws InvalidOptionError if there are too many; what JSON.stringify throws
   */
  textsOf(value: unknown, fields: false | readonly string[] = this.#fields): string[] {
    if (fields === false) return [];
    const texts = new Set(fields.flatMap((field) => textsAt(value, partsOf(field))));
    texts.delete("");
    if (texts.size > mostTexts)
      throw new InvalidOptionError(
        "index",
        `fields with ${texts.size} texts`,
        `An item has vectors for at most ${mostTexts} texts.`,
      );
    return [...texts];
  }

  /**
   * A unit vector for each text.
   * @throws InvalidOptionError, StratigraphError "UNAVAILABLE", what the embeddings throw
   */
  async vectorsOf(texts: ReadonlySet<string>): Promise<Map<string, Float32Array>> {
    if (texts.size === 0) return new Map();
    const vectors: unknown = await inTime(() => this.#config.embeddings.embedDocuments([...texts]));
    if (!Array.isArray(vectors) || vectors.length !== texts.size)
      throw new InvalidOptionError(
        "index.embeddings",
        Array.isArray(vectors) ? `${vectors.length} vectors for ${texts.size} texts` : kindOf(vectors),
        "Their embedDocuments() has to give a vector for each text.",
      );
    return new Map(Array.from(texts, (text, n) => [text, this.#unit(vectors[n])]));
  }

  /** Makes a unit vector of a query, once for equal ones. The function throws as {@link vectorsOf} does. */
  queries(): (query: string) => Promise<Float32Array> {
    const made = new Map<string, Promise<Float32Array>>();
    const make = async (query: string): Promise<Float32Array> =>
      this.#unit(await inTime(() => this.#config.embeddings.embedQuery(query)));
    return async (query) => {
      const making = made.get(query) ?? make(query);
      made.set(query, making);
      return await making;
    };
  }

  /** A vector at the length 1, or 0 if it is. So cosine similarity is a sum of products. */
  #unit(vector: unknown): Float32Array {
    const isVector = Array.isArray(vector) || vector instanceof Float32Array;
    const numbers = isVector ? Array.from<unknown>(vector) : [];
    if (!isVector || !numbers.every((one): one is number => Number.isFinite(one)))
      throw new InvalidOptionError(
        "index.embeddings",
        isVector ? "a vector with something that is no finite number" : kindOf(vector),
        "They have to give lists of numbers.",
      );
    if (numbers.length !== this.#config.dims)
      throw new InvalidOptionError(
        "index.dims",
        this.#config.dims,
        `The embeddings gave a vector of ${numbers.length} numbers.`,
      );
    // First by the largest number, as squares of very large or small ones are none any more.
    const largest = numbers.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
    const scaled = numbers.map((one) => one / largest);
    const length = Math.sqrt(scaled.reduce((sum, one) => sum + one * one, 0)) || 1;
    return Float32Array.from(scaled, (one) => one / length);
  }
}

/** The `index` of a put. @throws InvalidOptionError */
export function checkedIndex(index: unknown): false | readonly string[] | undefined {
  if (index === false) return false;
  return index === undefined || index === null ? undefined : checkedFields("index", index);
}

function checkedFields(field: string, fields: unknown): readonly string[] {
  if (Array.isArray(fields) && fields.every((path) => typeof path === "string")) return [...fields];
  throw new InvalidOptionError(field, kindOf(fields), 'Pass a list of paths: ["text", "notes[*].title"].');
}

async function inTime<T>(call: () => Promise<T>): Promise<T> {
  return await answerWithin(
    longestMs,
    async () => await call(),
    () =>
      new StratigraphError(
        "UNAVAILABLE",
        `The store's embeddings gave no answer within ${longestMs} ms. The batch of operations stored nothing.`,
        { timeoutMs: longestMs },
      ),
  );
}
