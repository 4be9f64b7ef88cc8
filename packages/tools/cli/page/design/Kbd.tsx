import type { VNode } from "preact";
import "./kbd.css";

const names: Readonly<Record<string, string>> = {
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  " ": "Space",
};

/** A key, or two keys that are pressed one after the other: "g t". */
export function Kbd({ keys }: { readonly keys: string }): VNode {
  const each = keys === " " ? [keys] : keys.split(" ");
  return (
    <span class="kbd-keys">
      {each.map((key, index) => (
        <kbd key={index}>{names[key] ?? key}</kbd>
      ))}
    </span>
  );
}
