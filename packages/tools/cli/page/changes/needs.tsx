import type { ComponentChildren, VNode } from "preact";
import { session } from "../api/client.ts";
import { Select } from "../design/Field.tsx";
import { Icon } from "../icons.tsx";
import "./changes.css";

/** Says what has to be done first, before something is possible. */
export function Notice({
  children,
  title,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="notice" role="note">
      <Icon name="lock" size={14} />
      <div class="notice-text">
        <strong>{title}</strong>
        {children}
      </div>
    </div>
  );
}

/** How to let a read-only inspector write. */
export function NeedsRight({ effect = "write" }: { readonly effect?: "write" | "destroy" }): VNode {
  return (
    <Notice title={effect === "write" ? "This inspector only reads" : "This inspector deletes nothing"}>
      <p>To allow it, start it again with:</p>
      <pre class="notice-code">
        stratigraph inspect --allow {effect === "write" ? "write" : "write,destroy"}
      </pre>
    </Notice>
  );
}

/** How to give graphs to the inspector. */
export function NeedsGraphs({ what }: { readonly what: string }): VNode {
  return (
    <Notice title={`${what} needs your graph`}>
      <p>Name it in stratigraph.config.ts, and start the inspector again:</p>
      <pre class="notice-code">{'graphs: { agent: "./src/agent.ts:graph" },'}</pre>
    </Notice>
  );
}

interface GraphSelectProps {
  readonly value: string;
  readonly onChange: (graph: string) => void;
}

/** Chooses one of the config's graphs. Shows nothing if there is only one. */
export function GraphSelect({ value, onChange }: GraphSelectProps): VNode | null {
  const names = session.value?.graphs ?? [];
  if (names.length < 2) return null;
  const options = names.map((name) => ({ value: name, label: name }));
  return (
    <Select
      label="Graph"
      value={value}
      onChange={onChange}
      options={[{ value: "", label: "Choose a graph" }, ...options]}
    />
  );
}

/** The graph to use: the only one, or the chosen one if it exists; undefined if one has yet to be chosen or there is none. */
export function chosenGraph(chosen: string): string | undefined {
  const names = session.value?.graphs ?? [];
  return names.length === 1 ? names[0] : names.find((name) => name === chosen);
}
