import type { VNode } from "preact";

/** Our own icons, on a grid of 16, drawn with lines of 1.5. */
const paths = {
  threads: "M2.5 4h11M2.5 8h11M2.5 12h7",
  conflicts: "M4 2.5v11M12 2.5v2a3 3 0 0 1-3 3H7a3 3 0 0 0-3 3M9.7 11.2l3.6 3.6M13.3 11.2l-3.6 3.6",
  workspaces: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  swap: "M3 5.5h9M9.5 3L12 5.5 9.5 8M13 10.5H4M6.5 8L4 10.5 6.5 13",
  compare: "M2.5 3h4v10h-4zM9.5 3h4v10h-4z",
  storage:
    "M2.5 4.5c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zM2.5 4.5v7c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2v-7M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2",
  health: "M1.5 8.5h3l2-5 3 9 2-4h3",
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM10.6 10.6L14 14",
  help: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM6 6.2a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.3M8 11.5v.1",
  light:
    "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3.1 3.1l1 1M11.9 11.9l1 1M12.9 3.1l-1 1M4.1 11.9l-1 1",
  dark: "M13.5 9.8A5.8 5.8 0 0 1 6.2 2.5a5.8 5.8 0 1 0 7.3 7.3z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  check: "M3 8.5l3.5 3.5L13 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  chevron: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4l-4 4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  up: "M8 13V3M4 7l4-4 4 4",
  fork: "M4.5 5.5v5M11.5 5.5c0 3-7 2-7 5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z",
  merge:
    "M4.5 5.5v5M4.5 5.5c0 3 5.5 1.5 5.5 2.5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z",
  diff: "M4 2.5v7M.5 6h7M9 12h6.5",
  edit: "M10.5 3l2.5 2.5L5.5 13H3v-2.5zM9 4.5L11.5 7",
  play: "M5 3l8 5-8 5z",
  step: "M4 3l6 5-6 5zM12.5 3v10",
  stop: "M4 4h8v8H4z",
  pause: "M5.5 3v10M10.5 3v10",
  warning: "M8 2L14.5 13.5h-13zM8 6.5v3.5M8 11.8v.1",
  error: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4.5v4.5M8 11.3v.1",
  info: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 7.2v4M8 4.7v.1",
  lock: "M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
  external: "M9 2.5h4.5V7M13.5 2.5L7 9M6 3.5H2.5v10h10V10",
  refresh: "M13.5 8A5.5 5.5 0 1 1 11.7 4M13.5 2v3h-3",
  filter: "M1.5 3h13l-5 6v4.5l-3-1.5V9z",
  tag: "M2 2.5h5.5l6.5 6.5-5 5L2.5 7.5zM5.2 5.2v.1",
  clock: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4v4.2l2.8 1.6",
  more: "M3 8v.1M8 8v.1M13 8v.1",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  undo: "M3 6.5h7a3.5 3.5 0 1 1 0 7H6M6 3L2.5 6.5 6 10",
  eye: "M1 8s2.5-4.5 7-4.5S15 8 15 8s-2.5 4.5-7 4.5S1 8 1 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  person: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.4-2.8 2.6-4.5 5.5-4.5s5.1 1.7 5.5 4.5",
  robot: "M3 6h10v7.5H3zM8 6V3M8 2.5v.1M6 9.5v.5M10 9.5v.5",
  tool: "M9.8 6.2L14 2M6 10l-3.5 3.5M9 2.5a4 4 0 0 0-3 6l-4 4 1.5 1.5 4-4a4 4 0 0 0 6-3l-2.5 1L9 6z",
} as const;

export type IconName = keyof typeof paths;

/** A picture beside a text with the same meaning, or in a button that has a label. Screen readers skip it. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): VNode {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
