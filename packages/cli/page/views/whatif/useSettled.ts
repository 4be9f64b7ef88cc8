import { useEffect, useState } from "preact/hooks";

/** A text as it was once nothing changed for a moment: for what would otherwise be asked at every key. */
export function useSettled(text: string, afterMs: number): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), afterMs);
    return () => clearTimeout(timer);
  }, [text, afterMs]);
  return settled;
}
