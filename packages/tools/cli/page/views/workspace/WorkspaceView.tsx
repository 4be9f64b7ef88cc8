import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Drawer } from "../../design/Dialog.tsx";
import { Tabs } from "../../design/Tabs.tsx";
import { commandText } from "../../design/commandText.ts";
import { useKeys } from "../../keys.ts";
import { href, navigate, route, setQuery } from "../../router.ts";
import { DiffTab } from "./DiffTab.tsx";
import { History } from "./History.tsx";
import { ItemsTab } from "./ItemsTab.tsx";
import { LocksTab } from "./LocksTab.tsx";
import { LogTab } from "./LogTab.tsx";
import { codeOf, given } from "./texts.ts";
import { useWatch } from "./useWatch.ts";
import "./workspace.css";

const parts = {
  items: { label: "Items", Part: ItemsTab, options: ["search", "prefix", "at"] },
  log: { label: "Log", Part: LogTab, options: ["prefix"] },
  diff: { label: "Diff", Part: DiffTab, options: ["from", "to"] },
  locks: { label: "Locks", Part: LocksTab, options: [] },
} as const;

const names = Object.keys(parts) as (keyof typeof parts)[];

/** A workspace: its items, its log, what differs between two versions, and its locks; and the history of an item. */
export function WorkspaceView({ workspace }: { readonly workspace: string }): VNode {
  const { query } = route.value;
  const current = names.find((name) => name === query.get("tab")) ?? "items";
  const { Part, options } = parts[current];
  const item = query.get("item") ?? undefined;
  const [changes, setChanges] = useState(0);
  useWatch(workspace, () => setChanges((n) => n + 1));
  const { prefix } = given(query, ["prefix"]);
  const addressOf = (tab: keyof typeof parts): string =>
    href("workspace", { workspace }, { tab: tab === "items" ? "" : tab, prefix });
  useKeys(
    Object.fromEntries(
      names.map((name, n) => [
        `${n + 1}`,
        { label: parts[name].label, run: () => navigate(addressOf(name)) },
      ]),
    ),
    "Workspace",
  );
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(current);
  // A link within a part goes away with it, and the focus would with the link.
  useEffect(() => {
    if (shown.current !== current && document.activeElement === document.body) heading.current?.focus();
    shown.current = current;
  }, [current]);
  const asked = given(query, options);
  const words = current === "diff" ? [workspace, query.get("of") ?? ""] : [workspace];
  return (
    <div class="page workspace">
      <header class="page-head">
        <h1 ref={heading} class="mono clip" tabIndex={-1} title={workspace}>
          {workspace}
        </h1>
        <div class="spacer" />
        <CopyMenu
          cli={commandText(`workspace ${current}`, words, asked)}
          code={`const workspace = createWorkspace(checkpointer, ${JSON.stringify(workspace)});\n${codeOf(current, asked)}`}
        />
      </header>
      <Tabs
        label="Parts of the workspace"
        current={current}
        tabs={names.map((id) => ({ id, label: parts[id].label, href: addressOf(id) }))}
      />
      <Part workspace={workspace} changes={changes} />
      <Drawer open={item !== undefined} title={item ?? "Item"} onClose={() => setQuery({ item: null })}>
        {item === undefined ? null : <History workspace={workspace} item={item} changes={changes} />}
      </Drawer>
    </div>
  );
}
