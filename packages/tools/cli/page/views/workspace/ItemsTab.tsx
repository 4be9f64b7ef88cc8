import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Empty } from "../../design/Empty.tsx";
import { Table } from "../../design/Table.tsx";
import { route, setQuery } from "../../router.ts";
import { byColumn, ItemButton, reasonColumn, valueColumn, whenColumn } from "./columns.tsx";
import { Filter, PrefixFilter } from "./Filter.tsx";
import { Loaded } from "./Loaded.tsx";
import { useLimit } from "./pages.tsx";
import { given, type TabProps } from "./texts.ts";

/** The items of a workspace, as they are or as they were. */
export function ItemsTab({ workspace, changes }: TabProps): VNode {
  const { query } = route.value;
  const { limit, more } = useLimit();
  const asked = given(query, ["search", "prefix", "at"]);
  const input = { workspace, limit, ...asked };
  const items = useResource(JSON.stringify([input, changes]), (signal) =>
    call("workspace-items", input, { signal }),
  );
  return (
    <>
      <div class="workspace-filters">
        <Filter name="search" label="Search items" placeholder="Search names and values" />
        <PrefixFilter />
        <Filter name="at" label="As of version or time" placeholder="As of: 17, 2026-03-01T12:00:00Z" />
      </div>
      <Loaded of={items}>
        {(data) => (
          <>
            {asked["at"] === undefined ? null : (
              <p class="dim">
                As of version {data.version}.{" "}
                <button type="button" class="workspace-open" onClick={() => setQuery({ at: null })}>
                  Show them as they are
                </button>
              </p>
            )}
            {data.items.length === 0 ? (
              <Nothing isFiltered={Object.keys(asked).length > 0} isCut={data.cursor !== undefined} />
            ) : (
              <Table
                label="Items"
                rows={data.items}
                keyOf={({ item }) => item}
                columns={[
                  { id: "item", head: "Item", cell: ({ item }) => <ItemButton item={item} /> },
                  valueColumn,
                  byColumn,
                  reasonColumn,
                  whenColumn,
                  { id: "version", head: "Version", align: "right", cell: ({ version }) => version },
                ]}
              />
            )}
            {data.items.length === 0 ? null : more(data.cursor)}
          </>
        )}
      </Loaded>
    </>
  );
}

function Nothing({ isFiltered, isCut }: { readonly isFiltered: boolean; readonly isCut: boolean }): VNode {
  return (
    <Empty title={isCut ? "Nothing so far" : "No items"} icon="workspaces">
      <p>
        {isCut
          ? "The page searches only so many items. Copy the command, which goes on with --cursor."
          : isFiltered
            ? "Nothing fits all of the fields above: empty one of them."
            : "Items appear here once an agent puts one. The log has those that were deleted."}
      </p>
    </Empty>
  );
}
