import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

/** How many rows are rendered above and below those in sight. */
const spareRows = 12;

export interface Window {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Which rows of a long list are in sight. The list has its full height, and an element around it scrolls. So a page can show several
 * lists of any length one below the other, without nested scrolling.
 * @param list a list whose rows all have the same height
 */
export function useWindow(list: RefObject<HTMLElement | null>, count: number, rowHeight: number): Window {
  const [seen, setSeen] = useState<Window>({ start: 0, end: Math.min(count, 60) });
  const look = () => {
    const element = list.current;
    if (element === null) return;
    const { top } = element.getBoundingClientRect();
    const start = Math.max(0, Math.floor(-top / rowHeight) - spareRows);
    const end = Math.min(count, Math.ceil((innerHeight - top) / rowHeight) + spareRows);
    setSeen((before) => (before.start === start && before.end === end ? before : { start, end }));
  };
  useLayoutEffect(look);
  useEffect(() => {
    let frame = 0;
    const later = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(look);
    };
    // Scroll events don't bubble, so they are caught in the capture phase.
    addEventListener("scroll", later, { capture: true, passive: true });
    addEventListener("resize", later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", later, { capture: true });
      removeEventListener("resize", later);
    };
  }, [count, rowHeight]);
  return { start: Math.min(seen.start, Math.max(0, count - 1)), end: Math.min(seen.end, count) };
}

/** The width of an element in characters of its fixed-width font. */
export function useColumns(element: RefObject<HTMLElement | null>): number {
  const [columns, setColumns] = useState(100);
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const look = () => {
      const context = document.createElement("canvas").getContext("2d");
      if (context === null) return;
      const { fontSize, fontFamily } = getComputedStyle(box);
      context.font = `${fontSize} ${fontFamily}`;
      const found = Math.floor(box.clientWidth / context.measureText("0").width);
      if (found > 0) setColumns(found);
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return columns;
}
