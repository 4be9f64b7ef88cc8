import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { IconButton } from "../design/Button.tsx";
import { valueActions } from "./actions.ts";
import { idsTo, matches, openFor } from "./findRows.ts";
import { pageAround, rowsOf, type MoreRow, type Row } from "./rows.ts";
import { TreeRow } from "./TreeRow.tsx";
import { useFilled, useSlices, valueId, type TreeValue } from "./useFilled.ts";
import type { ValueAt } from "./ValueAt.ts";
import { useColumns, useWindow } from "./useWindow.ts";
import "./tree.css";

const rowHeight = 24;

/** How many bytes are requested at once at most. */
const mostBytes = 50_000_000;

interface ValueTreeProps {
  /** For screen readers. */
  readonly label: string;
  readonly values: readonly TreeValue[];
  /** The checkpoint from which more is loaded. Absent: the omitted parts can't be loaded, and the values have no menu. */
  readonly at?: ValueAt | undefined;
  /** Whether all values are open at first. */
  readonly open?: boolean;
  /** The value to scroll to. */
  readonly focus?: { readonly channel: string; readonly path: string } | undefined;
  /** Whether there is a search field. */
  readonly searchable?: boolean;
}

/** Values as a tree. Items are loaded when they are scrolled into view. The rest of a text is loaded on request. */
export function ValueTree(props: ValueTreeProps): VNode {
  const { label, values, at, open: isOpen = false, focus, searchable = false } = props;
  const { roots, fill } = useFilled(values);
  const [open, setOpen] = useState<ReadonlySet<string>>(
    () => new Set(isOpen ? roots.map(({ id }) => id) : []),
  );
  const [active, setActive] = useState(0);
  const [hovered, setHovered] = useState(-1);
  const [word, setWord] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const columns = useColumns(list);
  const rows = useMemo(() => rowsOf(roots, { open, columns }), [roots, open, columns]);
  const found = useMemo(() => matches(rows, word), [rows, word]);
  const seen = useWindow(list, rows.length, rowHeight);
  const channels = new Map(values.map((each) => [valueId(each), each.channel]));
  const loadSlice = useSlices(at, roots, channels, fill);
  useEffect(() => {
    for (const row of rows.slice(seen.start, seen.end))
      if (row.row === "pending") void loadSlice(row.root, row.path, pageAround(row.gap, row.index));
  });
  const loadMore = ({ root, path, shown, bytes }: MoreRow, all: boolean) => {
    const maxBytes = all ? Math.min(mostBytes, bytes + 1000) : undefined;
    void loadSlice(root, path, { from: shown, to: undefined }, maxBytes);
  };
  const wanted = useRef<string>(undefined);
  const focused = JSON.stringify([focus, at]);
  useEffect(() => {
    const root = focus === undefined ? undefined : roots.find(({ id }) => channels.get(id) === focus.channel);
    if (root === undefined) return;
    const ids = idsTo(root, focus!.path);
    wanted.current = ids.at(-1);
    setOpen((before) => new Set([...before, ...ids.slice(0, -1)]));
  }, [focused]);
  useEffect(() => {
    const index = wanted.current === undefined ? -1 : rows.findIndex(({ id }) => id === wanted.current);
    if (index === -1) return;
    wanted.current = undefined;
    setActive(index);
    showRow(list.current, index);
  });
  const at0 = Math.min(active, rows.length - 1);
  const toggle = (id: string, to?: boolean) =>
    setOpen((before) => {
      const next = new Set(before);
      if (to ?? !before.has(id)) next.add(id);
      else next.delete(id);
      return next;
    });
  const goTo = (index: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    setActive(to);
    showRow(list.current, to);
  };
  const look = (text: string) => {
    setWord(text);
    if (text.length > 1) setOpen((before) => new Set([...before, ...openFor(roots, text)]));
  };
  const step = (by: number) => {
    if (found.length === 0) return;
    const next = by > 0 ? found.find((n) => n > at0) : found.findLast((n) => n < at0);
    goTo(next ?? (by > 0 ? found[0]! : found.at(-1)!));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== list.current) return;
    const row = rows[at0];
    if (row === undefined || !press(event.key, row)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const press = (key: string, row: Row): boolean => {
    const moves: Record<string, number> = {
      ArrowDown: at0 + 1,
      ArrowUp: at0 - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: at0 + 20,
      PageUp: at0 - 20,
    };
    const to = moves[key];
    if (to !== undefined) {
      goTo(to);
      return true;
    }
    const value = row.row === "value" ? row : undefined;
    if (key === "ArrowRight" && value?.expandable === true) {
      if (value.expanded) goTo(at0 + 1);
      else toggle(value.id, true);
      return true;
    }
    if (key === "ArrowLeft") {
      if (value?.expanded === true) toggle(value.id, false);
      else goTo(rows.findLastIndex((each, n) => n < at0 && each.depth < row.depth));
      return true;
    }
    if (key === "Enter" || key === " ") {
      if (value?.expandable === true) toggle(value.id);
      if (row.row === "more") loadMore(row, false);
      return true;
    }
    if (value === undefined || at === undefined) return false;
    const part = { channel: channels.get(value.root)!, path: value.path };
    if (key === "c") valueActions.copyValue(at, part, value.value);
    else if (key === "p") valueActions.copyPath(part);
    else if (key === "b") valueActions.blame(at, part);
    else return false;
    return true;
  };
  return (
    <div class="value-tree">
      {searchable ? (
        <TreeSearch word={word} found={found.length} place={found.indexOf(at0)} onWord={look} onStep={step} />
      ) : null}
      <div
        ref={list}
        class="tree-rows mono"
        role="tree"
        aria-label={label}
        tabIndex={0}
        // Only if the row is in the document: other rows are created when they come into sight.
        aria-activedescendant={
          rows[at0] === undefined || at0 < seen.start || at0 >= seen.end
            ? undefined
            : domId(label, rows[at0].id)
        }
        style={{ height: `${rows.length * rowHeight}px` }}
        onKeyDown={onKeyDown}
        onMouseLeave={() => setHovered(-1)}
      >
        {rows.slice(seen.start, seen.end).map((row, n) => {
          const index = seen.start + n;
          return (
            <TreeRow
              key={row.id}
              id={domId(label, row.id)}
              row={row}
              top={index * rowHeight}
              at={at}
              channel={channels.get(row.root)!}
              active={index === at0}
              hovered={index === hovered}
              hit={word !== "" && found.includes(index)}
              onHover={() => setHovered(index)}
              onActive={() => {
                setActive(index);
                list.current?.focus({ preventScroll: true });
              }}
              onToggle={() => row.row === "value" && row.expandable && toggle(row.id)}
              onMore={(all) => row.row === "more" && loadMore(row, all)}
            />
          );
        })}
      </div>
    </div>
  );
}

interface TreeSearchProps {
  readonly word: string;
  readonly found: number;
  readonly place: number;
  readonly onWord: (word: string) => void;
  readonly onStep: (by: number) => void;
}

function TreeSearch({ word, found, place, onWord, onStep }: TreeSearchProps): VNode {
  return (
    <div class="tree-search" role="search">
      <input
        class="input"
        type="search"
        aria-label="Search within the values that are loaded"
        placeholder="Search in values"
        value={word}
        onInput={(event) => onWord(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onStep(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") onWord("");
        }}
      />
      {word === "" ? null : (
        <>
          <span class="tree-found" role="status">
            {found === 0 ? "Nothing in what is loaded" : `${place === -1 ? "" : `${place + 1} of `}${found}`}
          </span>
          <IconButton icon="up" label="Previous match" disabled={found === 0} onClick={() => onStep(-1)} />
          <IconButton icon="down" label="Next match" disabled={found === 0} onClick={() => onStep(1)} />
        </>
      )}
    </div>
  );
}

function domId(label: string, id: string): string {
  return `tree-${label}-${id}`.replaceAll(/\s+/g, "_");
}

function showRow(list: HTMLElement | null, index: number): void {
  if (list === null) return;
  const scroller = scrollerOf(list);
  if (scroller === undefined) return;
  const box = scroller.getBoundingClientRect();
  const top = list.getBoundingClientRect().top + index * rowHeight;
  if (top < box.top + rowHeight) scroller.scrollTop += top - box.top - rowHeight * 2;
  else if (top + rowHeight * 2 > box.bottom) scroller.scrollTop += top + rowHeight * 3 - box.bottom;
}

function scrollerOf(element: HTMLElement): HTMLElement | undefined {
  for (let at = element.parentElement; at !== null; at = at.parentElement)
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  return undefined;
}
