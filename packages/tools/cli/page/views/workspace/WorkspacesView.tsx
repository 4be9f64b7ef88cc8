import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Table } from "../../design/Table.tsx";
import { Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, route, setQuery } from "../../router.ts";
import { byText } from "./texts.ts";
import "./workspace.css";

/** The workspaces that agents share. */
export function WorkspacesView(): VNode {
  const cursor = route.value.query.get("cursor") ?? "";
  const input = cursor === "" ? {} : { cursor };
  const { data, error, reload } = useResource(`workspaces ${cursor}`, (signal) =>
    call("workspace-list", input, { signal }),
  );
  return (
    <div class="page">
      <header class="page-head">
        <h1>Workspaces</h1>
        <div class="spacer" />
        <Button size="small" icon="refresh" onClick={reload}>
          Look again
        </Button>
        <CopyMenu
          cli={commandText("workspace list", [])}
          code={`const workspace = createWorkspace(checkpointer, "trip");`}
        />
      </header>
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={5} />
      ) : data.items.length === 0 ? (
        <Empty title="No workspaces" icon="workspaces">
          <p>Memory that agents share is listed here, from its first change on.</p>
        </Empty>
      ) : (
        <Table
          label="Workspaces"
          rows={data.items}
          keyOf={({ workspace }) => workspace}
          columns={[
            {
              id: "workspace",
              head: "Workspace",
              cell: ({ workspace }) => (
                <a class="workspace-name clip mono" href={href("workspace", { workspace })} title={workspace}>
                  {workspace}
                </a>
              ),
            },
            {
              id: "by",
              head: "Changed by",
              cell: ({ author = {} }) => <span class="workspace-name clip">{byText(author)}</span>,
            },
            {
              id: "at",
              head: "Changed",
              align: "right",
              cell: ({ at }) => (at === undefined ? "" : <Time at={at} />),
            },
            { id: "version", head: "Version", align: "right", cell: ({ version }) => version },
          ]}
        />
      )}
      {data?.cursor === undefined ? null : (
        <div class="actions">
          <Button icon="down" onClick={() => setQuery({ cursor: data.cursor }, { replace: false })}>
            More workspaces
          </Button>
        </div>
      )}
    </div>
  );
}
