import type { VNode } from "preact";
import { Button } from "../design/Button.tsx";
import { Menu } from "../design/Menu.tsx";
import { Pill } from "../design/Pill.tsx";
import { bytesText } from "../design/units.ts";
import { Icon } from "../icons.tsx";
import { valueMenu } from "./actions.ts";
import { countText } from "./describe.ts";
import type { Row, ValueRow } from "./rows.ts";
import { visible } from "./text.ts";
import type { ValueAt } from "./ValueAt.ts";
import "./value.css";

interface TreeRowProps {
  readonly id: string;
  readonly row: Row;
  readonly top: number;
  readonly at: ValueAt | undefined;
  readonly channel: string;
  readonly active: boolean;
  readonly hovered: boolean;
  /** Whether the row contains the searched word. */
  readonly hit: boolean;
  readonly onHover: () => void;
  readonly onActive: () => void;
  readonly onToggle: () => void;
  readonly onMore: (all: boolean) => void;
}

export function TreeRow(props: TreeRowProps): VNode {
  const { id, row, top, active, hit, onHover, onActive, onToggle } = props;
  const value = row.row === "value" ? row : undefined;
  return (
    <div
      id={id}
      class={`tree-row${active ? " tree-row-active" : ""}${hit ? " tree-row-hit" : ""}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={value?.expandable === true ? value.expanded : undefined}
      aria-selected={active}
      aria-posinset={value?.position}
      aria-setsize={value?.siblings}
      style={{ top: `${top}px`, paddingLeft: `${row.depth * 16 + 4}px` }}
      onMouseEnter={onHover}
      onClick={(event) => {
        onActive();
        // Selecting text must not close it.
        if (event.detail === 1 && String(getSelection()) === "") onToggle();
      }}
    >
      {Array.from({ length: row.depth }, (_, n) => (
        <span key={n} class="tree-guide" style={{ left: `${n * 16 + 11}px` }} />
      ))}
      {value === undefined ? <OtherRow {...props} /> : <ValueCells {...props} row={value} />}
    </div>
  );
}

function ValueCells({ row, at, channel, active, hovered }: TreeRowProps & { readonly row: ValueRow }): VNode {
  const { label, labelKind, kind, name, text, size, expandable, expanded, path, value, note } = row;
  return (
    <>
      <span class={`tree-twist${expanded ? " tree-twist-open" : ""}`}>
        {expandable ? <Icon name="right" size={12} /> : null}
      </span>
      <span class={`tree-label tree-label-${labelKind}`}>{label === "" ? '""' : visible(label)}</span>
      {name === undefined ? null : <span class="tree-name">{name}</span>}
      {expanded && kind !== "error" ? null : <span class={`tree-text clip value-${kind}`}>{text}</span>}
      {note === undefined ? null : <Pill tone="amber">{note}</Pill>}
      {size === "" ? null : <span class="tree-size">{size}</span>}
      {at !== undefined && (active || hovered) ? (
        <span class="tree-actions" onClick={(event) => event.stopPropagation()}>
          <Menu label={`What to do with ${label}`} items={valueMenu(at, { channel, path }, value)} />
        </span>
      ) : null}
    </>
  );
}

function OtherRow({ row, at, onMore }: TreeRowProps): VNode {
  if (row.row === "line") return <span class="tree-line">{row.text === "" ? " " : row.text}</span>;
  if (row.row === "pending")
    return (
      <>
        <span class="tree-twist" />
        <span class="tree-label tree-label-index">{row.label}</span>
        <span class="tree-waits">{at === undefined ? "left out" : "loading"}</span>
      </>
    );
  if (row.row !== "more") return <></>;
  return (
    <span class="tree-more" onClick={(event) => event.stopPropagation()}>
      <span class="faint">
        {countText(row.shown)} characters of {bytesText(row.bytes)} are shown.
      </span>
      {at === undefined ? null : (
        <>
          <Button size="small" onClick={() => onMore(false)}>
            Show more
          </Button>
          {row.bytes > 50_000_000 ? null : (
            <Button size="small" tone="quiet" onClick={() => onMore(true)}>
              Show all
            </Button>
          )}
        </>
      )}
    </span>
  );
}
