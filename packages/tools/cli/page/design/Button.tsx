import type { ComponentChildren, VNode } from "preact";
import { Icon, type IconName } from "../icons.tsx";
import "./button.css";

interface ButtonProps {
  readonly children: ComponentChildren;
  /** "primary" for the main action of a form, "danger" for an action that removes something. */
  readonly tone?: "normal" | "primary" | "danger" | "quiet";
  readonly size?: "normal" | "small";
  readonly icon?: IconName | undefined;
  readonly disabled?: boolean | undefined;
  /** Shows that the action is under way. The button can't be pressed meanwhile. */
  readonly busy?: boolean | undefined;
  readonly pressed?: boolean | undefined;
  readonly submit?: boolean;
  readonly title?: string | undefined;
  readonly onClick?: ((event: MouseEvent) => void) | undefined;
}

export function Button(props: ButtonProps): VNode {
  const { children, tone = "normal", size = "normal", icon, disabled, busy = false, submit = false } = props;
  return (
    <button
      type={submit ? "submit" : "button"}
      class={`button button-${tone} button-${size}`}
      disabled={disabled === true || busy}
      aria-busy={busy}
      aria-pressed={props.pressed}
      title={props.title}
      onClick={props.onClick}
    >
      {icon === undefined ? null : <Icon name={icon} size={14} />}
      <span class="clip">{children}</span>
    </button>
  );
}

interface LinkButtonProps extends Pick<ButtonProps, "children" | "tone" | "size" | "icon" | "title"> {
  readonly href: string;
}

/** A link that looks like a button. Use it to go somewhere; use a button to do something. */
export function LinkButton({
  children,
  href,
  tone = "normal",
  size = "normal",
  icon,
  title,
}: LinkButtonProps) {
  return (
    <a class={`button button-${tone} button-${size}`} href={href} title={title}>
      {icon === undefined ? null : <Icon name={icon} size={14} />}
      <span class="clip">{children}</span>
    </a>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  /** The button's action, for screen readers and as a tooltip. */
  readonly label: string;
  readonly disabled?: boolean | undefined;
  readonly pressed?: boolean | undefined;
  readonly expanded?: boolean | undefined;
  readonly onClick: (event: MouseEvent) => void;
}

export function IconButton({ icon, label, disabled, pressed, expanded, onClick }: IconButtonProps): VNode {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      disabled={disabled}
      aria-pressed={pressed}
      aria-expanded={expanded}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
