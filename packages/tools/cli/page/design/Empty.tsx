import type { ComponentChildren, VNode } from "preact";
import { Icon, type IconName } from "../icons.tsx";
import "./states.css";

interface EmptyProps {
  readonly title: string;
  /** What would be shown here, and how to get it. */
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
}

/** What a view shows if it has no data. */
export function Empty({ title, children, icon }: EmptyProps): VNode {
  return (
    <div class="empty">
      {icon === undefined ? null : <Icon name={icon} size={24} />}
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <div class="empty-text">{children}</div>}
    </div>
  );
}
