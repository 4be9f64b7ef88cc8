import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys.ts";
import "./list.css";

interface VirtualListProps {
  /** What is listed, for screen readers. */
  readonly label: string;
  readonly count: number;
  /** In pixels. */
  readonly rowHeight: number;
  readonly keyOf: (index: number) => string;
  readonly row: (index: number) => ComponentChildren;
  /** The row that is chosen; -1 for none. */
  readonly active: number;
  readonly onActive: (index: number) => void;
  /** Enter, or a second click on the chosen row. */
  readonly onOpen?: ((index: number) => void) | undefined;
  /** Called when the end comes near, so that more can be loaded. */
  readonly onNearEnd?: (() => void) | undefined;
  /** A click on a row opens it, rather than choosing it. */
  readonly openOnClick?: boolean;
  /** Makes `j k` and Enter work wherever the focus is. The help lists these keys under this heading. */
  readonly keysScope?: string | undefined;
  readonly role?: "listbox" | "grid";
  /** The number of all rows, loaded or not, if it is known. */
  readonly total?: number | undefined;
  readonly rowClass?: ((index: number) => string) | undefined;
}

/** More rows are requested this many rows before the end. */
const nearEndRows = 200;

/** How many new rows at the top are taken into account at most when the visible rows are kept in place. */
const mostNewRows = 1000;

/**
 * A list of any length. Only the visible rows are in the document. Arrow keys, `j k`, Home, End and the page keys move the choice.
 * Rows that are added above don't move the visible rows, unless the list is at its very top.
 */
export function VirtualList(props: VirtualListProps): VNode {
  const { label, count, rowHeight, keyOf, row, active, onActive, onOpen, onNearEnd } = props;
  const { role = "listbox", total, rowClass, openOnClick = false, keysScope } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, render] = useState(0);
  const id = useId();
  // Without `getItemKey`: a new function would have all rows measured again at every step of a scroll.
  const options: VirtualizerOptions<HTMLDivElement, HTMLDivElement> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => render((n) => n + 1),
  };
  const held = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>(undefined);
  held.current ??= new Virtualizer(options);
  const virtualizer = held.current;
  virtualizer.setOptions(options as Required<typeof options>);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());

  const topKey = useRef<string>(undefined);
  useLayoutEffect(() => {
    const element = scroller.current!;
    const before = topKey.current;
    topKey.current = count === 0 ? undefined : keyOf(0);
    if (before === undefined || count === 0 || element.scrollTop === 0 || keyOf(0) === before) return;
    for (let added = 1; added < Math.min(count, mostNewRows); added += 1)
      if (keyOf(added) === before) {
        element.scrollTop += added * rowHeight;
        return;
      }
  });
  useEffect(() => {
    if (active >= 0 && active < count) virtualizer.scrollToIndex(active, { align: "auto" });
  }, [active < 0 || active >= count ? undefined : keyOf(active)]);
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= count - nearEndRows) onNearEnd?.();
  }, [last, count, onNearEnd]);

  const move = (to: number) => {
    if (count > 0) onActive(Math.max(0, Math.min(count - 1, to)));
  };
  useKeys(
    keysScope === undefined
      ? {}
      : {
          j: { label: "Next", run: () => move(active + 1) },
          k: { label: "Previous", run: () => move(active - 1) },
          Home: { label: "First", run: () => move(0) },
          End: { label: "Last", run: () => move(count - 1) },
          ...(onOpen === undefined
            ? {}
            : { Enter: { label: "Open", run: () => (active < 0 ? false : onOpen(active)) } }),
        },
    keysScope ?? "List",
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor((scroller.current!.clientHeight / rowHeight) * 0.9));
    const moves: Record<string, number> = {
      ArrowDown: active + 1,
      j: active + 1,
      ArrowUp: active - 1,
      k: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && active >= 0) onOpen?.(active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const grid = role === "grid";
  return (
    <div
      ref={scroller}
      class="list"
      role={role}
      aria-label={label}
      aria-rowcount={grid ? (total ?? count) : undefined}
      {...(items.some(({ index }) => index === active) ? { "aria-activedescendant": `${id}-${active}` } : {})}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div class="list-all" role="presentation" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {items.map(({ index, start }) => (
          <div
            key={keyOf(index)}
            id={`${id}-${index}`}
            class={`list-row ${rowClass?.(index) ?? ""}`}
            role={grid ? "row" : "option"}
            aria-selected={index === active}
            aria-rowindex={grid ? index + 1 : undefined}
            aria-setsize={grid ? undefined : (total ?? count)}
            aria-posinset={grid ? undefined : index + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${start}px)` }}
            onClick={(event) => {
              // Links and buttons in a row have their own actions.
              if ((event.target as Element).closest("a, button") !== null) return;
              if (index === active || openOnClick) onOpen?.(index);
              else onActive(index);
            }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
