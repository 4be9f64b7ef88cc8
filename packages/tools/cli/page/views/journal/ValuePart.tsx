import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Bytes } from "../../design/Texts.tsx";
import { ValueTree } from "../../values/ValueTree.tsx";

interface View {
  readonly type: string;
  readonly bytes: number;
  readonly value?: unknown;
}

/** Arguments or a result, as a tree. */
export function ValuePart({
  title,
  view,
  none,
}: {
  readonly title: string;
  readonly view: View | undefined;
  readonly none: string;
}): VNode {
  const values = useMemo(
    () =>
      view === undefined ? [] : [{ channel: title.toLowerCase(), value: view.value, bytes: view.bytes }],
    [view, title],
  );
  return (
    <section class="journal-part">
      <h3>
        {title}
        {view === undefined ? null : (
          <span class="faint">
            <Bytes value={view.bytes} />
          </span>
        )}
      </h3>
      {view === undefined ? (
        <p class="faint">{none}</p>
      ) : view.type === "json" ? (
        <ValueTree label={title} values={values} open />
      ) : (
        <p class="faint">Not JSON: {view.type}.</p>
      )}
    </section>
  );
}
