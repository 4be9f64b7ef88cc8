import { Embeddings } from "@langchain/core/embeddings";

/** Embeddings without a model: texts with the same words are similar. They note what they were asked for. */
export class WordEmbeddings extends Embeddings {
  /** The texts of each call. */
  readonly documents: string[][] = [];
  readonly queries: string[] = [];
  readonly #dims: number;

  constructor(dims: number) {
    super({});
    this.#dims = dims;
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    this.documents.push(texts);
    return texts.map((text) => this.#vector(text));
  }

  override async embedQuery(text: string): Promise<number[]> {
    this.queries.push(text);
    return this.#vector(text);
  }

  #vector(text: string): number[] {
    const vector = Array.from({ length: this.#dims }, () => 0);
    for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
      let seed = 1;
      for (const character of word) seed = (seed * 31 + character.charCodeAt(0)) % 2_147_483_647;
      for (let n = 0; n < this.#dims; n += 1) {
        seed = (seed * 48_271) % 2_147_483_647;
        vector[n]! += seed / 2_147_483_647 - 0.5;
      }
    }
    return vector;
  }
}
