import type { VNode } from "preact";
import { Icon, type IconName } from "../icons.tsx";
import { useKeys } from "../keys.ts";
import { href, navigate, route, type Route, type View } from "../router.ts";

const places: readonly {
  readonly view: View;
  readonly label: string;
  readonly icon: IconName;
  readonly keys: string;
  readonly views: readonly Route["view"][];
}[] = [
  {
    view: "threads",
    label: "Threads",
    icon: "threads",
    keys: "g t",
    views: ["threads", "thread", "checkpoint", "journal", "why", "threadStorage", "merge", "whatif"],
  },
  { view: "inbox", label: "Inbox", icon: "person", keys: "g i", views: ["inbox"] },
  {
    view: "workspaces",
    label: "Workspaces",
    icon: "workspaces",
    keys: "g w",
    views: ["workspaces", "workspace"],
  },
  { view: "conflicts", label: "Conflicts", icon: "conflicts", keys: "g c", views: ["conflicts"] },
  { view: "compare", label: "Compare", icon: "compare", keys: "g m", views: ["compare", "diff", "blame"] },
  { view: "storage", label: "Storage", icon: "storage", keys: "g s", views: ["storage"] },
  { view: "verify", label: "Health", icon: "health", keys: "g h", views: ["verify"] },
];

/** Links to the main views. */
export function Nav(): VNode {
  useKeys(
    Object.fromEntries(
      places.map(({ view, label, keys }) => [
        keys,
        { label: `Go to ${label.toLowerCase()}`, run: () => navigate(href(view)) },
      ]),
    ),
    "Everywhere",
  );
  return (
    <nav class="nav" aria-label="Main">
      {places.map(({ view, label, icon, views }) => (
        <a
          key={view}
          class="nav-item"
          href={href(view)}
          aria-current={views.includes(route.value.view) ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{label}</span>
        </a>
      ))}
    </nav>
  );
}
