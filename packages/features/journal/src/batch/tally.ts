import type { KeptError } from "../log/entry.ts";

/** The progress of a batch. */
export interface BatchProgress {
  readonly total: number;
  /** Items that are done, in this run or before. */
  readonly done: number;
  /** Of these, how many were done before. */
  readonly before: number;
  readonly failed: number;
  readonly ambiguous: number;
}

/** An item that isn't done. */
export interface UndoneItem<T> {
  readonly key: string;
  readonly item: T;
  readonly error: KeptError;
}

/** The outcome of a batch. */
export interface BatchResult<T> extends BatchProgress {
  /** Items whose work threw, or was denied. The next run works on them again, unless the error leaves open whether they acted. */
  readonly failures: readonly UndoneItem<T>[];
  /** Items whose outcome is unknown. They aren't worked on again until `journal.resolve()` or `reconcile` determines it. */
  readonly ambiguities: readonly UndoneItem<T>[];
}

/** Counts the outcomes of items. */
export class Tally<T> {
  readonly #total: number;
  readonly #onProgress: ((progress: BatchProgress) => void) | undefined;
  #done = 0;
  #before = 0;
  readonly #failures: UndoneItem<T>[] = [];
  readonly #ambiguities: UndoneItem<T>[] = [];

  constructor(total: number, onProgress: ((progress: BatchProgress) => void) | undefined) {
    this.#total = total;
    this.#onProgress = onProgress;
  }

  get result(): BatchResult<T> {
    return {
      total: this.#total,
      done: this.#done,
      before: this.#before,
      failed: this.#failures.length,
      ambiguous: this.#ambiguities.length,
      failures: this.#failures,
      ambiguities: this.#ambiguities,
    };
  }

  doneBefore(items: number): void {
    this.#before = items;
    this.#done += items;
    if (items > 0) this.#tell();
  }

  done(): void {
    this.#done += 1;
    this.#tell();
  }

  failed({ key, item }: Pick<UndoneItem<T>, "key" | "item">, error: KeptError): void {
    this.#failures.push({ key, item, error });
    this.#tell();
  }

  ambiguous({ key, item }: Pick<UndoneItem<T>, "key" | "item">, error: KeptError): void {
    this.#ambiguities.push({ key, item, error });
    this.#tell();
  }

  #tell(): void {
    const { failures: _failures, ambiguities: _ambiguities, ...progress } = this.result;
    this.#onProgress?.(progress);
  }
}
