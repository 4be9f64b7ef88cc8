import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Empty } from "../../design/Empty.tsx";
import { Table } from "../../design/Table.tsx";
import { href, route, setQuery } from "../../router.ts";
import { byColumn, ItemButton, reasonColumn, valueColumn, whenColumn } from "./columns.tsx";
import { PrefixFilter } from "./Filter.tsx";
import { Loaded } from "./Loaded.tsx";
import { useLimit } from "./pages.tsx";
import { given, type Change, type TabProps } from "./texts.ts";

/** The changes and messages of a workspace, newest first. Any two of its versions can be compared. */
export function LogTab({ workspace, changes }: TabProps): VNode {
  const { query } = route.value;
  const { limit, more } = useLimit();
  const asked = given(query, ["prefix"]);
  const input = { workspace, limit, ...asked };
  const log = useResource(JSON.stringify([input, changes]), (signal) =>
    call("workspace-log", input, { signal }),
  );
  return (
    <>
      <div class="workspace-filters">
        <PrefixFilter />
      </div>
      <Loaded of={log}>
        {(data) => (
          <>
            {data.items.length === 0 ? (
              <Empty title="No changes" icon="workspaces">
                <p>
                  {Object.keys(asked).length > 0
                    ? "Nothing was changed below these labels: empty the field above."
                    : "Changes appear here as agents make them. Older ones were trimmed away."}
                </p>
              </Empty>
            ) : (
              <Table
                label="Log"
                rows={data.items}
                keyOf={({ version }) => String(version)}
                columns={[
                  { id: "what", head: "What", cell: (change) => <What change={change} /> },
                  {
                    id: "version",
                    head: "Version",
                    align: "right",
                    cell: ({ version }) => (
                      <a
                        href={href("workspace", { workspace }, { at: version })}
                        title="The items as they were at this version"
                      >
                        {version}
                      </a>
                    ),
                  },
                  {
                    id: "compare",
                    head: "Compare",
                    cell: (change) => <Compare workspace={workspace} change={change} />,
                  },
                  valueColumn,
                  byColumn,
                  reasonColumn,
                  whenColumn,
                ]}
              />
            )}
            {more(data.cursor)}
            {data.trimmed === 0 ? null : (
              <p class="faint">
                The log was trimmed up to version {data.trimmed}: what was changed before isn't known.
              </p>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function What({ change: { kind, item, topic, to } }: { readonly change: Change }): VNode {
  if (kind !== "message")
    return (
      <span class="workspace-what">
        {kind} <ItemButton item={item ?? ""} />
      </span>
    );
  return (
    <span class="workspace-name clip" title={topic ?? to}>
      {topic === undefined ? `message to ${to ?? ""}` : `message on ${topic}`}
    </span>
  );
}

/** Leads to what a change did; or, once another version is marked, to what differs from that. */
function Compare({ workspace, change }: { readonly workspace: string; readonly change: Change }): VNode {
  const { kind, version } = change;
  const mark = Number(route.value.query.get("mark") ?? "");
  const to = (a: number, b: number): string =>
    href("workspace", { workspace }, { tab: "diff", from: Math.min(a, b), to: Math.max(a, b) });
  const isMarked = mark === version;
  if (mark > 0 && !isMarked)
    return (
      <a href={to(mark, version)}>
        With {mark}
        <span class="unseen"> from version {version}</span>
      </a>
    );
  return (
    <span class="workspace-compare">
      <button
        type="button"
        class="workspace-open"
        title="Mark this version, to compare it with another one"
        onClick={() => setQuery({ mark: isMarked ? null : version })}
      >
        {isMarked ? "Unmark" : "Mark"}
        <span class="unseen"> version {version}</span>
      </button>
      {kind === "message" ? null : (
        <a href={to(version - 1, version)}>
          Diff<span class="unseen"> of version {version}</span>
        </a>
      )}
    </span>
  );
}
