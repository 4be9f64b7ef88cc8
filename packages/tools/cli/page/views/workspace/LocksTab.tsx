import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Empty } from "../../design/Empty.tsx";
import { Table } from "../../design/Table.tsx";
import { Time } from "../../design/Texts.tsx";
import { Loaded } from "./Loaded.tsx";
import { authorText, byText, type TabProps } from "./texts.ts";

/** Locks aren't in the log, so they are looked at anew, in milliseconds. */
const everyMs = 1000;

/** How many locks are told at most. */
const most = 1000;

/** Who holds which lock of a workspace. */
export function LocksTab({ workspace, changes }: TabProps): VNode {
  const locks = useResource(JSON.stringify(["locks", workspace, changes]), (signal) =>
    call("workspace-locks", { workspace }, { signal }),
  );
  const { reload } = locks;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <Loaded of={locks}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="No lock is held" icon="workspaces">
            <p>
              A lock is shown here from when an agent takes it with <code>workspace.lock()</code> until its
              work ends.
            </p>
          </Empty>
        ) : (
          <>
            <Table
              label="Locks"
              rows={items}
              keyOf={({ key }) => key}
              columns={[
                {
                  id: "lock",
                  head: "Lock",
                  cell: ({ key }) => (
                    <span class="workspace-name clip mono" title={key}>
                      {key}
                    </span>
                  ),
                },
                {
                  id: "by",
                  head: "Held by",
                  cell: ({ author }) => (
                    <span class="workspace-name clip" title={authorText(author)}>
                      {byText(author) || "an unnamed agent"}
                    </span>
                  ),
                },
                { id: "since", head: "Since", align: "right", cell: ({ since }) => <Time at={since} /> },
                { id: "token", head: "Token", align: "right", cell: ({ token }) => token },
              ]}
            />
            {items.length < most ? null : <p class="faint">The newest {most} are shown.</p>}
          </>
        )
      }
    </Loaded>
  );
}
