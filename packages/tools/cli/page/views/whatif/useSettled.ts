import { useEffect, useState } from "preact/hooks";

/** Returns the text after it hasn't changed for a moment, so that not every key press causes a request. */
export function useSettled(text: string, afterMs: number): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), afterMs);
    return () => clearTimeout(timer);
  }, [text, afterMs]);
  return settled;
}
