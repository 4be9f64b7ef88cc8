import type { VNode } from "preact";
import type { Line, TreeRow } from "./layout.ts";
import "./tree.css";

/** The distance between two lanes in pixels, and how many lanes are drawn side by side. Further lanes share the last place. */
const step = 14;
const mostLanes = 10;

export type Dot = "normal" | "head" | "lost" | "merge" | "input";

interface TreeCellProps {
  readonly row: TreeRow;
  readonly height: number;
  /** How many lanes the cell has space for: the same number in all rows nearby, so that the texts beside them line up. */
  readonly lanes: number;
  readonly dot: Dot;
  /** Whether its parent isn't in this thread: it was pruned, or is in the thread that this one was forked from. */
  readonly cut: boolean;
}

/** The part of the tree that belongs to one row. */
export function TreeCell({ row, height, lanes, dot, cut }: TreeCellProps): VNode {
  const middle = height / 2;
  const at = x(row.lane);
  return (
    <svg
      class="tree-cell"
      width={treeWidth(lanes)}
      height={height}
      viewBox={`0 0 ${treeWidth(lanes)} ${height}`}
      aria-hidden="true"
    >
      {row.lines.map((line, index) => (
        <path
          key={index}
          class={`lane-${line.color + 1}${line.dashed ? " lane-dashed" : ""}`}
          d={pathOf(line, at, height)}
        />
      ))}
      {cut ? <path class="lane-cut" d={`M${at} ${middle + 6}V${height}`} /> : null}
      {dot === "head" ? (
        <circle class={`tree-ring lane-${row.color + 1}`} cx={at} cy={middle} r={6.5} />
      ) : null}
      {dot === "merge" ? (
        <rect
          class={`tree-dot lane-${row.color + 1}`}
          x={at - 4}
          y={middle - 4}
          width={8}
          height={8}
          transform={`rotate(45 ${at} ${middle})`}
        />
      ) : (
        <circle
          class={`tree-dot lane-${row.color + 1}${dot === "lost" || dot === "input" ? " tree-hollow" : ""}`}
          cx={at}
          cy={middle}
          r={dot === "head" ? 3.5 : 4}
        />
      )}
    </svg>
  );
}

/** The drawn width of a tree with this number of lanes. */
export function treeWidth(lanes: number): number {
  return 12 + step * Math.min(lanes, mostLanes);
}

function x(lane: number): number {
  return 13 + step * Math.min(lane, mostLanes - 1);
}

function pathOf({ kind, lane }: Line, at: number, height: number): string {
  const middle = height / 2;
  const to = x(lane);
  if (kind === "through") return `M${to} 0V${height}`;
  const [from, end] = kind === "in" ? [0, middle] : [height, middle];
  if (to === at) return `M${at} ${from}V${end}`;
  // The curve starts along the lane, and reaches the dot from the side.
  return `M${to} ${from}C${to} ${(from + end) / 2 + (kind === "in" ? 4 : -4)} ${(to + at) / 2} ${end} ${at} ${end}`;
}
