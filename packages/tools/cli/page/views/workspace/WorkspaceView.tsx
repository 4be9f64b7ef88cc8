import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Drawer } from "../../design/Dialog.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Table } from "../../design/Table.tsx";
import { Tabs } from "../../design/Tabs.tsx";
import { Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, route, setQuery } from "../../router.ts";
import { inline } from "../../values/describe.ts";
import { ValuePart } from "../journal/ValuePart.tsx";
import { authorText, byText, type Change } from "./texts.ts";
import { useWatch } from "./useWatch.ts";
import "./workspace.css";

/** How many rows are shown at first, and at most; and how many characters of a value a row shows. */
const [firstPage, longestPage, valueLength] = [100, 1000, 90];

/** A workspace: its items or its log, with new changes as they come; and the history of an item. */
export function WorkspaceView({ workspace }: { readonly workspace: string }): VNode {
  const { query } = route.value;
  const isLog = query.get("tab") === "log";
  const item = query.get("item") ?? undefined;
  const search = query.get("search") ?? "";
  const [limit, setLimit] = useState(firstPage);
  const [version, setVersion] = useState(0);
  const known = { workspace, limit };
  const log = useResource(isLog ? JSON.stringify(["log", known]) : undefined, (signal) =>
    call("workspace-log", known, { signal }),
  );
  const items = useResource(isLog ? undefined : JSON.stringify(["items", known, search]), (signal) =>
    call("workspace-items", { ...known, ...(search === "" ? {} : { search }) }, { signal }),
  );
  const shown = isLog ? log : items;
  useWatch(workspace, () => {
    shown.reload();
    setVersion((n) => n + 1);
  });
  const { data, error, reload } = shown;
  const name = JSON.stringify(workspace);
  return (
    <div class="page workspace">
      <header class="page-head">
        <h1 class="mono clip">{workspace}</h1>
        <div class="spacer" />
        <CopyMenu
          cli={commandText(isLog ? "workspace log" : "workspace items", [workspace], isLog ? {} : { search })}
          code={`const workspace = createWorkspace(checkpointer, ${name});\nconst items = await workspace.search([]);`}
        />
      </header>
      <Tabs
        label="Parts of the workspace"
        current={isLog ? "log" : "items"}
        tabs={[
          { id: "items", label: "Items", href: href("workspace", { workspace }) },
          { id: "log", label: "Log", href: href("workspace", { workspace }, { tab: "log" }) },
        ]}
      />
      {isLog ? null : (
        <input
          class="input workspace-search"
          type="search"
          aria-label="Search items"
          placeholder="Search names and values"
          value={search}
          onChange={(event) => setQuery({ search: event.currentTarget.value })}
        />
      )}
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={8} />
      ) : data.items.length === 0 ? (
        <Empty title={isLog ? "No changes" : "No items"} icon="workspaces" />
      ) : isLog ? (
        <Changes items={log.data?.items ?? []} label="Log" />
      ) : (
        <Changes
          items={(items.data?.items ?? []).map((each) => ({ ...each, kind: "put" as const }))}
          label="Items"
        />
      )}
      {data?.cursor === undefined ? null : limit >= longestPage ? (
        <p class="faint">The first {longestPage} are shown. The command line shows all.</p>
      ) : (
        <div class="actions">
          <Button icon="down" onClick={() => setLimit(Math.min(longestPage, limit * 3))}>
            Show more
          </Button>
        </div>
      )}
      <Drawer open={item !== undefined} title={item ?? "Item"} onClose={() => setQuery({ item: null })}>
        {item === undefined ? null : <History workspace={workspace} item={item} version={version} />}
      </Drawer>
    </div>
  );
}

function Changes({ items, label }: { readonly items: readonly Change[]; readonly label: string }): VNode {
  const isLog = label === "Log";
  return (
    <Table
      label={label}
      rows={items}
      keyOf={({ version }) => String(version)}
      columns={[
        {
          id: "what",
          head: isLog ? "What" : "Item",
          cell: (change) => <What change={change} isLog={isLog} />,
        },
        {
          id: "value",
          head: "Value",
          cell: ({ value }) => (
            <span class="mono dim">{value === undefined ? "" : inline(value.value, valueLength)}</span>
          ),
        },
        {
          id: "by",
          head: "By",
          cell: ({ author }) => <span title={authorText(author)}>{byText(author)}</span>,
        },
        {
          id: "reason",
          head: "Reason",
          cell: ({ reason = "" }) => (
            <span class="workspace-reason clip" title={reason}>
              {reason}
            </span>
          ),
        },
        { id: "at", head: "When", align: "right", cell: ({ at }) => <Time at={at} /> },
        { id: "version", head: "Version", align: "right", cell: ({ version }) => version },
      ]}
    />
  );
}

function What({
  change: { kind, item, topic, to },
  isLog,
}: {
  readonly change: Change;
  readonly isLog: boolean;
}): VNode {
  if (kind === "message")
    return <>{topic === undefined ? `message to ${to ?? ""}` : `message on ${topic}`}</>;
  return (
    <>
      {isLog ? `${kind} ` : ""}
      <button
        type="button"
        class="workspace-open mono"
        onClick={() => setQuery({ item }, { replace: false })}
      >
        {item}
      </button>
    </>
  );
}

/** All changes of an item, newest first, with who made them and why. */
function History({
  workspace,
  item,
  version,
}: {
  readonly workspace: string;
  readonly item: string;
  readonly version: number;
}): VNode {
  const input = { workspace, item, maxBytes: 1_000_000 };
  const { data, error, reload } = useResource(JSON.stringify([input, version]), (signal) =>
    call("workspace-log", input, { signal }),
  );
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={6} />;
  return (
    <ol class="workspace-history" aria-label="History">
      {data.items.map(({ version: of, kind, at, author, reason, value }) => (
        <li key={of}>
          <h3>
            {kind === "delete" ? "Deleted" : `Version ${of}`} <Time at={at} />
          </h3>
          <p class="dim">by {authorText(author) || "an unnamed agent"}</p>
          {reason === undefined ? null : <p>{reason}</p>}
          {kind === "delete" ? null : <ValuePart title="Value" view={value} none="" />}
        </li>
      ))}
    </ol>
  );
}
