/** A checkpoint as far as drawing needs it. */
export interface Drawn {
  readonly checkpointId: string;
  /** The parents that are drawn further down. */
  readonly parents: readonly string[];
}

/**
 * Lays out a history as a tree, one checkpoint after the other, children before parents. Each lane holds the id of the checkpoint
 * that continues it; a checkpoint is drawn in the first lane that holds its id. The ids in the lanes are all that the next page of a long
 * history needs.
 */
export class Lanes {
  readonly #open: (string | undefined)[];

  /** @param open the lanes at the end of the previous page; see {@link open} */
  constructor(open: readonly (string | undefined)[] = []) {
    this.#open = [...open];
  }

  /** The checkpoints that the lanes wait for, from left to right. */
  get open(): readonly (string | undefined)[] {
    return [...this.#open];
  }

  /** Draws a checkpoint. `join`: a line above it, where other lanes end in it. */
  draw({ checkpointId, parents }: Drawn): { readonly join: string | undefined; readonly row: string } {
    const open = this.#open;
    let own = open.indexOf(checkpointId);
    if (own === -1) own = this.#free();
    const joined = open.flatMap((id, index) => (id === checkpointId && index !== own ? [index] : []));
    const join =
      joined.length === 0
        ? undefined
        : this.#line((index) => (index === own ? "├" : joined.includes(index) ? "╯" : undefined));
    for (const index of joined) open[index] = undefined;
    open[own] = checkpointId;
    const row = this.#line((index) => (index === own ? "●" : undefined));
    const [parent, ...merged] = parents;
    open[own] = parent;
    for (const other of merged) if (!open.includes(other)) open[this.#free()] = other;
    while (open.length > 0 && open.at(-1) === undefined) open.pop();
    return { join, row };
  }

  #free(): number {
    const gap = this.#open.indexOf(undefined);
    return gap === -1 ? this.#open.length : gap;
  }

  #line(mark: (index: number) => string | undefined): string {
    return this.#open.map((id, index) => mark(index) ?? (id === undefined ? " " : "│")).join(" ");
  }
}
