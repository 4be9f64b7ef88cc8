import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { Icon } from "../icons.tsx";
import { Button, IconButton } from "./Button.tsx";
import "./toast.css";

interface Shown {
  readonly id: number;
  readonly text: string;
  readonly tone: "neutral" | "green" | "red";
  readonly action?: ToastAction | undefined;
}

/** A button in a toast, such as "Undo". */
interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

const shown = signal<readonly Shown[]>([]);

/** How long a toast stays. An error stays until it is closed. */
const staysMs = 4000;

/** How long a toast with a button stays: long enough to decide. */
const offersMs = 60_000;

let last = 0;

/** Shows a short message for a moment, such as "Copied". Screen readers read it out. */
export function toast(text: string, tone: Shown["tone"] = "neutral", action?: ToastAction): void {
  const id = (last += 1);
  shown.value = [...shown.value.slice(-2), { id, text, tone, action }];
  if (tone !== "red") setTimeout(() => close(id), action === undefined ? staysMs : offersMs);
}

function close(id: number): void {
  shown.value = shown.value.filter((each) => each.id !== id);
}

/** The place where toasts appear. */
export function Toasts(): VNode {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, text, tone, action }) => (
        <div key={id} class={`toast toast-${tone}`}>
          {tone === "neutral" ? null : <Icon name={tone === "red" ? "error" : "check"} size={14} />}
          <span>{text}</span>
          {action === undefined ? null : (
            <Button
              size="small"
              icon="undo"
              onClick={() => {
                close(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          {tone === "red" || action !== undefined ? (
            <IconButton icon="close" label="Close" onClick={() => close(id)} />
          ) : null}
        </div>
      ))}
    </div>
  );
}
