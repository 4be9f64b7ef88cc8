import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** The action of a key. */
export interface KeyAction {
  /** A few words for the help. */
  readonly label: string;
  /** Returns false to leave the key to the browser. */
  run(event: KeyboardEvent): void | false;
}

/** Keys by their names, as `KeyboardEvent.key` has them; two in a row are written with a space: "g t". */
export type Keys = Readonly<Record<string, KeyAction | undefined>>;

interface Registered {
  readonly scope: string;
  keys: Keys;
}

/** What is registered now. If several have the same key, the last one gets it. */
export const registered = signal<readonly Registered[]>([]);

/** How long the second key of a sequence may take. */
const sequenceMs = 1000;

let first: { readonly key: string; readonly atMs: number } | undefined;

/** Registers keys while a component is shown. @param scope the heading under which the help lists them */
export function useKeys(keys: Keys, scope: string): void {
  const own = useRef<Registered>({ scope, keys });
  own.current.keys = keys;
  useEffect(() => {
    const entry = own.current;
    registered.value = [...registered.value, entry];
    return () => {
      registered.value = registered.value.filter((each) => each !== entry);
    };
  }, []);
}

/** Listens to the keyboard. */
export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
    // A focused button or menu handles these keys itself.
    if ((event.key === "Enter" || event.key === " ") && isControl(event.target)) return;
    const sequence =
      first !== undefined && event.timeStamp - first.atMs < sequenceMs
        ? `${first.key} ${event.key}`
        : undefined;
    first = undefined;
    const action = (sequence && find(sequence)) || find(event.key);
    if (action === undefined) {
      if (begins(event.key)) first = { key: event.key, atMs: event.timeStamp };
      return;
    }
    if (action.run(event) !== false) event.preventDefault();
  });
}

function find(key: string): KeyAction | undefined {
  for (const { keys } of registered.value.toReversed()) {
    const action = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (action !== undefined) return action;
  }
  return undefined;
}

function begins(key: string): boolean {
  return registered.value.some(({ keys }) => Object.keys(keys).some((each) => each.startsWith(`${key} `)));
}

/** Whether the focus is on something that text is typed into. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (
    target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
    return true;
  return (
    target instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit"].includes(target.type)
  );
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("button, a[href], summary, [role=menuitem]") !== null;
}
