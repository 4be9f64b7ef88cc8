import type { ComponentChildren, VNode } from "preact";
import "./tabs.css";

interface Tab {
  readonly id: string;
  readonly label: ComponentChildren;
  /** Every tab is an address. */
  readonly href: string;
  readonly count?: number | undefined;
}

interface TabsProps {
  /** What the tabs belong to, for screen readers. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}

/** Links to the parts of a view. They are a navigation rather than a tab list, because each has its own address. */
export function Tabs({ label, tabs, current }: TabsProps): VNode {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, label, href, count }) => (
        <a key={id} class="tab" href={href} aria-current={id === current ? "page" : undefined}>
          {label}
          {count === undefined ? null : <span class="tab-count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
