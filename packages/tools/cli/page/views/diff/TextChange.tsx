import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { countText } from "../../design/units.ts";
import { visible } from "../../values/text.ts";
import { folded, pieces, type Differ, type Folded, type SideText } from "./changeText.ts";

let loaded: Differ | undefined;

/** The library that compares texts, loaded when it is first needed. */
function useDiffer(): Differ | undefined {
  const [differ, setDiffer] = useState(loaded);
  useEffect(() => {
    if (loaded !== undefined) return;
    void (async () => {
      const { diffWordsWithSpace, diffLines } = await import("diff");
      loaded = { diffWordsWithSpace, diffLines } as Differ;
      setDiffer(loaded);
    })();
  }, []);
  return differ;
}

interface TextChangeProps {
  readonly before: SideText;
  readonly after: SideText;
}

/** Compares two texts: side by side if there is enough space, otherwise as one text. */
export function TextChange({ before, after }: TextChangeProps): VNode {
  const differ = useDiffer();
  const all = useMemo(
    () => (differ === undefined ? undefined : folded(pieces(differ, before, after))),
    [differ, before.text, after.text],
  );
  const style = before.kind === "text" && after.kind === "text" ? "change-prose" : "change-data";
  if (all === undefined) return <p class="faint">Comparing</p>;
  return (
    <div class={`text-change ${style}`}>
      <Side all={all} kinds={["removed"]} name="Before" className="side-before" of={before} />
      <Side all={all} kinds={["added"]} name="After" className="side-after" of={after} />
      <Side
        all={all}
        kinds={["removed", "added"]}
        name="Before and after"
        className="side-both"
        of={{ ...after, cut: before.cut || after.cut }}
      />
    </div>
  );
}

interface SideProps {
  readonly all: readonly Folded[];
  /** The kinds of pieces that are shown besides the equal ones. */
  readonly kinds: readonly string[];
  readonly name: string;
  readonly className: string;
  readonly of: SideText;
}

function Side({ all, kinds, name, className, of: { cut, skips } }: SideProps): VNode {
  return (
    <pre class={`side ${className}`} aria-label={name}>
      {skips === 0 ? null : <span class="side-cut">{countText(skips)} equal characters …</span>}
      {all.map((piece, n) => {
        if (piece.kind === "fold") return <Fold key={n} text={piece.text} lines={piece.lines} />;
        if (piece.kind === "same") return visible(piece.text);
        if (!kinds.includes(piece.kind)) return null;
        return piece.kind === "added" ? (
          <ins key={n}>{visible(piece.text)}</ins>
        ) : (
          <del key={n}>{visible(piece.text)}</del>
        );
      })}
      {cut ? <span class="side-cut">… the rest was cut</span> : null}
    </pre>
  );
}

function Fold({ text, lines }: { readonly text: string; readonly lines: number }): VNode {
  const [open, setOpen] = useState(false);
  if (open) return <>{visible(text)}</>;
  return (
    <button type="button" class="side-fold" onClick={() => setOpen(true)}>
      {lines} equal lines
    </button>
  );
}
