import { call } from "../api/client.ts";
import { errorFrom } from "../api/resource.ts";
import { toast } from "../design/Toast.tsx";

/** Says that a thread was changed, with a button that undoes the change. @param onUndone called after it was undone */
export function toastWithUndo(thread: string, text: string, onUndone?: () => void): void {
  toast(text, "green", { label: "Undo", run: () => void undo(thread, onUndone) });
}

/** Undoes the last change of a thread's head, and says whether that succeeded. */
export async function undo(thread: string, onUndone?: () => void): Promise<void> {
  try {
    await call("undo", { thread });
    toast(`Taken back: the last change of ${thread}`, "green");
    onUndone?.();
  } catch (thrown) {
    toast(errorFrom(thrown).message, "red");
  }
}
