import { MainLine, TreeLayout, type TreeRow } from "../../tree/layout.ts";
import type { HistoryItem, Loaded } from "./historyPages.ts";

/** A loaded history as it is drawn. */
export interface LoadedHistory extends Loaded {
  readonly rows: readonly TreeRow[];
  /** Checkpoints of the main line. */
  readonly main: ReadonlySet<string>;
  /** Indexes in `items`, by checkpoint. */
  readonly places: ReadonlyMap<string, number>;
  /** How many lanes the widest row has. */
  readonly lanes: number;
  /** The most bytes that a checkpoint added. */
  readonly mostBytes: number;
  /** Whether any checkpoint names its run. */
  readonly hasRuns: boolean;
}

/** Lays out a history. Items that are loaded at its end are added to the layout, so every page costs the same. */
export class HistoryLayout {
  #items: readonly HistoryItem[] = [];
  #head: string | undefined;
  #tree = new TreeLayout();
  #main = new MainLine(undefined);
  #places = new Map<string, number>();
  #lanes = 1;
  #mostBytes = 0;
  #hasRuns = false;

  of(loaded: Loaded): LoadedHistory {
    if (!this.#goesOn(loaded)) this.#begin(loaded.head);
    const added = loaded.items.slice(this.#items.length);
    this.#tree.add(added);
    this.#main.add(added);
    for (const [n, { checkpoint, bytes, run }] of added.entries()) {
      const place = this.#items.length + n;
      this.#places.set(checkpoint, place);
      this.#lanes = Math.max(this.#lanes, this.#tree.rows[place]!.width);
      this.#mostBytes = Math.max(this.#mostBytes, bytes);
      this.#hasRuns ||= run !== undefined;
    }
    this.#items = loaded.items;
    return {
      ...loaded,
      rows: this.#tree.rows,
      main: this.#main.checkpoints,
      places: this.#places,
      lanes: this.#lanes,
      mostBytes: this.#mostBytes,
      hasRuns: this.#hasRuns,
    };
  }

  /** Whether everything laid out so far is unchanged. A reloaded page has new item objects, even if their content is equal. */
  #goesOn({ items, head }: Loaded): boolean {
    const known = this.#items.length;
    return (
      head === this.#head &&
      known > 0 &&
      items.length >= known &&
      items[0] === this.#items[0] &&
      items[known - 1] === this.#items[known - 1]
    );
  }

  #begin(head: string | undefined): void {
    this.#items = [];
    this.#head = head;
    this.#tree = new TreeLayout(head);
    this.#main = new MainLine(head);
    this.#places = new Map();
    this.#lanes = 1;
    this.#mostBytes = 0;
    this.#hasRuns = false;
  }
}
