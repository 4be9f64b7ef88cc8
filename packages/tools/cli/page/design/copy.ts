import { toast } from "./Toast.tsx";

/** Puts text on the clipboard, and says so. */
export async function copy(text: string, said = "Copied"): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(said, "green");
  } catch {
    // Browsers allow the clipboard only to pages of this machine and to https.
    toast("The browser doesn't let this page use the clipboard.", "red");
  }
}

/** Gives the browser a file to save. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
