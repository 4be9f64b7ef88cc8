import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { Empty } from "../../design/Empty.tsx";
import { Field } from "../../design/Field.tsx";
import { href, route, setQuery } from "../../router.ts";
import { ChannelDiff } from "../diff/ChannelDiff.tsx";
import "../diff/diff.css";
import { Loaded } from "./Loaded.tsx";
import { given, type TabProps } from "./texts.ts";

/** How many items are shown at first, and at most. */
const [first, most] = [50, 1000];

/** What differs between two versions of a workspace, or of one of its items. */
export function DiffTab({ workspace, changes }: TabProps): VNode {
  const { of, ...asked } = given(route.value.query, ["from", "to", "of"]);
  const [limit, setLimit] = useState(first);
  const input = { workspace, limit, ...asked, ...(of === undefined ? {} : { item: of }) };
  const diff = useResource(JSON.stringify([input, changes]), (signal) =>
    call("workspace-diff", input, { signal }),
  );
  const version = (at: number): VNode => <a href={href("workspace", { workspace }, { at })}>version {at}</a>;
  return (
    <>
      <Sides from={asked["from"] ?? ""} to={asked["to"] ?? ""} item={of ?? ""} />
      <Loaded of={diff}>
        {(data) => (
          <>
            <h2 class="workspace-sides">
              From {version(data.from)} to {version(data.to)}
            </h2>
            {data.changed.length === 0 ? (
              <Empty title="No difference" icon="check">
                <p>What was asked for has the same value in both versions.</p>
              </Empty>
            ) : (
              <div class="diff-channels">
                {data.changed.map((each) => (
                  <ChannelDiff key={each.item} channel={{ ...each, name: each.item }} />
                ))}
              </div>
            )}
            {!data.more ? null : limit >= most ? (
              <p class="faint">More items were changed. Name one of them, or versions that are closer.</p>
            ) : (
              <div class="actions">
                <Button icon="down" onClick={() => setLimit(most)}>
                  Show more items
                </Button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

interface SidesProps {
  readonly from: string;
  readonly to: string;
  readonly item: string;
}

function Sides(asked: SidesProps): VNode {
  const [{ from, to, item }, set] = useState(asked);
  useEffect(() => set(asked), [asked.from, asked.to, asked.item]);
  return (
    <form
      class="workspace-form"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ from: from.trim(), to: to.trim(), of: item.trim() }, { replace: false });
      }}
    >
      <Field
        label="Before: a version or time"
        value={from}
        onInput={(text) => set({ from: text, to, item })}
        mono
        placeholder="before the last change"
      />
      <Field
        label="After: a version or time"
        value={to}
        onInput={(text) => set({ from, to: text, item })}
        mono
        placeholder="now"
      />
      <Field
        label="Only this item"
        value={item}
        onInput={(text) => set({ from, to, item: text })}
        mono
        placeholder="plan.days"
      />
      <Button submit tone="primary">
        Compare
      </Button>
    </form>
  );
}
