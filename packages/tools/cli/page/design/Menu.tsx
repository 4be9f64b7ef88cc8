import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons.tsx";
import "./menu.css";

export interface MenuItem {
  readonly label: ComponentChildren;
  readonly icon?: IconName | undefined;
  /** A second line, such as the command that is copied. */
  readonly detail?: string | undefined;
  readonly disabled?: boolean;
  readonly onSelect: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly icon?: IconName;
  /** Shows the label as text beside the icon. */
  readonly withText?: boolean;
  readonly items: readonly MenuItem[];
}

/** A button that opens a list of actions. */
export function Menu({ label, icon = "more", withText = false, items }: MenuProps): VNode {
  const [open, setOpen] = useState(false);
  const [place, setPlace] = useState({ top: 0, right: 0 });
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = (refocus: boolean) => {
    setOpen(false);
    if (refocus) button.current?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    buttonsIn(list.current)[0]?.focus();
    const outside = (event: Event) => {
      const target = event.target as Node;
      if (list.current?.contains(target) !== true && button.current?.contains(target) !== true)
        setOpen(false);
    };
    addEventListener("pointerdown", outside, true);
    addEventListener("resize", outside);
    return () => {
      removeEventListener("pointerdown", outside, true);
      removeEventListener("resize", outside);
    };
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = buttonsIn(list.current);
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: buttons.length - 1,
    };
    const to = moves[event.key];
    if (event.key === "Escape") close(true);
    else if (event.key === "Tab") return close(false);
    else if (to === undefined) return;
    else buttons.at(to % buttons.length)?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  const toggle = () => {
    const { bottom, right } = button.current!.getBoundingClientRect();
    setPlace({ top: bottom + 4, right: Math.max(8, document.documentElement.clientWidth - right) });
    setOpen(!open);
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={withText ? "button button-normal button-small" : "icon-button"}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={withText ? undefined : label}
        title={withText ? undefined : label}
        onClick={toggle}
      >
        <Icon name={icon} size={withText ? 14 : 16} />
        {withText ? <span>{label}</span> : null}
      </button>
      {open ? (
        <div
          ref={list}
          id={id}
          class="menu"
          role="menu"
          aria-label={label}
          style={{ top: `${place.top}px`, right: `${place.right}px` }}
          onKeyDown={onKeyDown}
        >
          {items.map(({ label, icon, detail, disabled = false, onSelect }, index) => (
            <button
              key={index}
              type="button"
              role="menuitem"
              class="menu-item"
              disabled={disabled}
              tabIndex={-1}
              onClick={() => {
                close(true);
                onSelect();
              }}
            >
              {icon === undefined ? null : <Icon name={icon} size={14} />}
              <span class="menu-text">
                <span>{label}</span>
                {detail === undefined ? null : <span class="menu-detail mono">{detail}</span>}
              </span>
            </button>
          ))}
        </div>
      ) : null}
    </>
  );
}

function buttonsIn(list: HTMLElement | null): HTMLButtonElement[] {
  return [...(list?.querySelectorAll<HTMLButtonElement>("button:not(:disabled)") ?? [])];
}
