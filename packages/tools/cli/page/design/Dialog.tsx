import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { IconButton } from "./Button.tsx";
import "./dialog.css";

interface DialogProps {
  readonly open: boolean;
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** Buttons below, the main one last. */
  readonly actions?: ComponentChildren;
  readonly wide?: boolean;
  readonly onClose: () => void;
}

/** A question or a form in front of the page. The browser keeps the focus within it, and Escape closes it. */
export function Dialog(props: DialogProps): VNode {
  return <Modal {...props} kind={props.wide === true ? "dialog dialog-wide" : "dialog"} />;
}

/** As {@link Dialog}, but at the right edge, for details that are read beside the page. */
export function Drawer(props: DialogProps): VNode {
  return <Modal {...props} kind="dialog drawer" />;
}

function Modal({ open, title, children, actions, kind, onClose }: DialogProps & { readonly kind: string }) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // A layout effect, so that it runs first: keys typed into an open dialog whose content is gone would be lost.
  useLayoutEffect(() => {
    const dialog = element.current!;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  // A closed dialog has no content, so that a form starts empty the next time.
  return (
    <dialog
      ref={element}
      class={kind}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        // A click on the backdrop has the dialog's element as its target.
        if (event.target === event.currentTarget) onClose();
      }}
    >
      {open ? (
        <div class="dialog-body">
          <header class="dialog-head">
            <h2 id={heading}>{title}</h2>
            <IconButton icon="close" label="Close" onClick={onClose} />
          </header>
          <div class="dialog-content">{children}</div>
          {actions === undefined ? null : <footer class="dialog-actions">{actions}</footer>}
        </div>
      ) : null}
    </dialog>
  );
}
