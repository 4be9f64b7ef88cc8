import type { VNode } from "preact";
import type { Column } from "../../design/Table.tsx";
import { Time } from "../../design/Texts.tsx";
import { setQuery } from "../../router.ts";
import { inline } from "../../values/describe.ts";
import { authorText, byText, type Change } from "./texts.ts";

/** How many characters of a value a row shows. */
const valueLength = 90;

type Told = Pick<Change, "value" | "author" | "reason" | "at">;

export const valueColumn: Column<Told> = {
  id: "value",
  head: "Value",
  cell: ({ value }) => (
    <span class="workspace-value clip mono dim">
      {value === undefined ? "" : inline(value.value, valueLength)}
    </span>
  ),
};

export const byColumn: Column<Told> = {
  id: "by",
  head: "By",
  cell: ({ author }) => (
    <span class="workspace-name clip" title={authorText(author)}>
      {byText(author)}
    </span>
  ),
};

export const reasonColumn: Column<Told> = {
  id: "reason",
  head: "Reason",
  cell: ({ reason = "" }) => (
    <span class="workspace-name clip" title={reason}>
      {reason}
    </span>
  ),
};

export const whenColumn: Column<Told> = {
  id: "at",
  head: "When",
  align: "right",
  cell: ({ at }) => <Time at={at} />,
};

/** The name of an item, which opens its history. */
export function ItemButton({ item }: { readonly item: string }): VNode {
  return (
    <button
      type="button"
      class="workspace-open workspace-name clip mono"
      title={item}
      onClick={() => setQuery({ item }, { replace: false })}
    >
      {item}
    </button>
  );
}
