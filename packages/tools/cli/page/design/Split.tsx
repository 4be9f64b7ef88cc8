import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import "./split.css";

interface SplitProps {
  /** The name under which the browser remembers the sizes. */
  readonly name: string;
  readonly first: ComponentChildren;
  /** Absent: the first pane has all the space. */
  readonly second?: ComponentChildren;
  /** The first pane's initial share, in percent. */
  readonly initial?: number;
}

const least = 20;
const most = 80;

/** Two panes side by side, or one above the other in narrow windows, with a handle between them that can be dragged. */
export function Split({ name, first, second, initial = 50 }: SplitProps): VNode {
  const [share, setShare] = useState(() => stored(name) ?? initial);
  const box = useRef<HTMLDivElement>(null);
  const [stacked, setStacked] = useState(false);
  useEffect(() => {
    const narrow = matchMedia("(max-width: 900px)");
    const look = () => setStacked(narrow.matches);
    look();
    narrow.addEventListener("change", look);
    return () => narrow.removeEventListener("change", look);
  }, []);
  const set = (to: number) => {
    const next = Math.round(Math.min(most, Math.max(least, to)) * 10) / 10;
    setShare(next);
    localStorage.setItem(`stratigraph.split.${name}`, String(next));
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!(event.currentTarget as HTMLElement).hasPointerCapture(event.pointerId)) return;
    const { left, top, width, height } = box.current!.getBoundingClientRect();
    set(stacked ? ((event.clientY - top) / height) * 100 : ((event.clientX - left) / width) * 100);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const [less, more] = stacked ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    if (event.key === less) set(share - 2);
    else if (event.key === more) set(share + 2);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const open = second !== undefined && second !== null;
  return (
    <div ref={box} class={`split${stacked ? " split-stacked" : ""}`}>
      <div class="split-pane" style={{ flexBasis: open ? `${share}%` : "100%" }}>
        {first}
      </div>
      {open ? (
        <>
          <div
            class="split-handle"
            role="separator"
            tabIndex={0}
            aria-label="Resize the panes"
            aria-orientation={stacked ? "horizontal" : "vertical"}
            aria-valuenow={Math.round(share)}
            aria-valuemin={least}
            aria-valuemax={most}
            onPointerDown={(event) => {
              event.preventDefault();
              event.currentTarget.setPointerCapture(event.pointerId);
            }}
            onPointerMove={onPointerMove}
            onDblClick={() => set(initial)}
            onKeyDown={onKeyDown}
          />
          <div class="split-pane split-second">{second}</div>
        </>
      ) : null}
    </div>
  );
}

function stored(name: string): number | undefined {
  const value = Number(localStorage.getItem(`stratigraph.split.${name}`) ?? Number.NaN);
  return value >= least && value <= most ? value : undefined;
}
