import type { ComponentChildren, VNode } from "preact";
import { Icon, type IconName } from "../icons.tsx";
import "./pill.css";

export type Tone = "neutral" | "green" | "red" | "amber" | "blue" | "violet" | "accent" | "solid";

interface PillProps {
  readonly children: ComponentChildren;
  readonly tone?: Tone;
  readonly icon?: IconName | undefined;
  readonly title?: string | undefined;
  /** Makes it a link. */
  readonly href?: string | undefined;
}

/** A short word on a coloured ground: a state, or a mark. */
export function Pill({ children, tone = "neutral", icon, title, href }: PillProps): VNode {
  const content = (
    <>
      {icon === undefined ? null : <Icon name={icon} size={12} />}
      <span class="clip">{children}</span>
    </>
  );
  return href === undefined ? (
    <span class={`pill pill-${tone}`} title={title}>
      {content}
    </span>
  ) : (
    <a class={`pill pill-${tone}`} href={href} title={title}>
      {content}
    </a>
  );
}
