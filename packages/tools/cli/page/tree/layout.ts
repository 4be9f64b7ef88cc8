/** The part of a checkpoint that determines its place in the tree. */
export interface TreeNode {
  readonly checkpoint: string;
  /** First the checkpoint it was made from, then those that were merged into it. Only those further down are listed. */
  readonly drawn: readonly string[];
  readonly lostTo?: string | undefined;
}

/** A line within a row. It starts at a lane at the top or at the dot, and ends at a lane at the bottom or at the dot. */
export interface Line {
  readonly kind: "through" | "in" | "out";
  /** The lane it comes from, or goes to. The other end of "in" and "out" is the dot. */
  readonly lane: number;
  readonly color: number;
  /** Whether the line belongs to a branch that lost a race. */
  readonly dashed: boolean;
}

/** What is drawn in a row. */
export interface TreeRow {
  readonly lane: number;
  readonly color: number;
  readonly lines: readonly Line[];
  /** How many lanes there are in the row. */
  readonly width: number;
}

/** How many colours there are. The first is the main line's. */
export const colors = 8;

interface Lane {
  /** The checkpoint that the lane leads to. */
  readonly to: string;
  readonly color: number;
  readonly dashed: boolean;
  /** Whether a part of it is drawn already. The main line isn't begun until its head has been added. */
  readonly begun: boolean;
}

/**
 * Lays out a history as a tree, one row after the other, children before parents. Rows that are loaded later are added to it. A
 * checkpoint is put in the first lane that leads to it. Other lanes that lead to it end there.
 */
export class TreeLayout {
  readonly rows: TreeRow[] = [];
  readonly #lanes: (Lane | undefined)[] = [];
  #nextColor = 1;

  /** @param head the checkpoint that the first lane, the main line, leads to, even if newer checkpoints are listed above it */
  constructor(head?: string) {
    if (head !== undefined) this.#lanes.push({ to: head, color: 0, dashed: false, begun: false });
  }

  add(nodes: readonly TreeNode[]): void {
    for (const node of nodes) this.rows.push(this.#row(node));
  }

  #row({ checkpoint, drawn, lostTo }: TreeNode): TreeRow {
    const lanes = this.#lanes;
    const known = lanes.findIndex((lane) => lane?.to === checkpoint);
    const own = known === -1 ? this.#free() : known;
    const color = lanes[own]?.color ?? this.#color();
    const lines: Line[] = [];
    const before = lanes.length;
    for (const [index, lane] of lanes.entries()) {
      if (lane === undefined) continue;
      const ends = lane.to === checkpoint;
      if (lane.begun)
        lines.push({ kind: ends ? "in" : "through", lane: index, color: lane.color, dashed: lane.dashed });
      if (ends) lanes[index] = undefined;
    }
    const dashed = lostTo !== undefined;
    const [parent, ...merged] = drawn;
    if (parent !== undefined) {
      lanes[own] = { to: parent, color, dashed, begun: true };
      lines.push({ kind: "out", lane: own, color, dashed });
    }
    for (const other of merged) {
      let lane = lanes.findIndex((each) => each?.to === other);
      if (lane === own) continue;
      if (lane === -1) {
        lane = this.#free();
        lanes[lane] = { to: other, color: this.#color(), dashed: false, begun: true };
      }
      lines.push({ kind: "out", lane, color: lanes[lane]!.color, dashed: false });
    }
    const width = Math.max(before, own + 1, lanes.length);
    while (lanes.length > 0 && lanes.at(-1) === undefined) lanes.pop();
    return { lane: own, color, lines, width };
  }

  #free(): number {
    const gap = this.#lanes.indexOf(undefined);
    return gap === -1 ? this.#lanes.length : gap;
  }

  #color(): number {
    const color = this.#nextColor;
    this.#nextColor = (this.#nextColor % (colors - 1)) + 1;
    return color;
  }
}

/** The line from the head down: the head, what it was made from, and so on, as far as it is known. */
export class MainLine {
  readonly checkpoints = new Set<string>();
  #wanted: string | undefined;

  constructor(head: string | undefined) {
    this.#wanted = head;
  }

  /** Adds the nodes that follow those that were added before. */
  add(nodes: readonly TreeNode[]): void {
    for (const { checkpoint, drawn } of nodes) {
      if (this.#wanted === undefined) return;
      if (checkpoint !== this.#wanted) continue;
      this.checkpoints.add(checkpoint);
      this.#wanted = drawn[0];
    }
  }
}
