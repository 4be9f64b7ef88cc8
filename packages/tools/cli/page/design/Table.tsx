import type { ComponentChildren, VNode } from "preact";
import "./table.css";

export interface Column<T> {
  readonly id: string;
  readonly head: ComponentChildren;
  readonly align?: "left" | "right";
  readonly cell: (row: T, index: number) => ComponentChildren;
}

interface TableProps<T> {
  /** What the table lists, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T, index: number) => string;
  /** Whether the first column is the row's heading. Default: true. */
  readonly rowHeads?: boolean;
}

/** A table with tens of rows. For longer ones, use `VirtualList`. */
export function Table<T>({ label, columns, rows, keyOf, rowHeads = true }: TableProps<T>): VNode {
  return (
    // A wide table scrolls sideways, which must be possible with the keyboard, too.
    <div class="table-wrap" role="group" aria-label={label} tabIndex={0}>
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ id, head, align }) => (
              <th key={id} scope="col" class={align === "right" ? "num" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ id, align, cell }, n) =>
                n === 0 && rowHeads ? (
                  <th key={id} scope="row" class={align === "right" ? "num" : undefined}>
                    {cell(row, index)}
                  </th>
                ) : (
                  <td key={id} class={align === "right" ? "num" : undefined}>
                    {cell(row, index)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
