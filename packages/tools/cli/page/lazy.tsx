import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { errorFrom } from "./api/resource.ts";
import { ErrorBox } from "./design/ErrorBox.tsx";
import { Skeleton } from "./design/Skeleton.tsx";

/**
 * A component in a separate file, which is loaded when the component is first shown.
 * @param load `lazy(() => import("./views/diff/DiffView.tsx").then((module) => module.DiffView))`
 * @param ahead loads it before it is shown: "now", or when the browser has nothing else to do ("idle")
 */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  { ahead }: { readonly ahead?: "now" | "idle" } = {},
): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  // Errors are ignored here: loading fails again when the component is shown, and the error is shown then.
  const early = (): void =>
    void load().then(
      (view) => (loaded ??= view),
      () => undefined,
    );
  if (ahead === "now") early();
  if (ahead === "idle") whenIdle(early);
  return function Lazy(props: P): VNode {
    const [, setReady] = useState(loaded !== undefined);
    const [error, setError] = useState<unknown>();
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      void (async () => {
        try {
          // Loading ahead may have ended since this was drawn. Then only setReady draws it again.
          loaded ??= await load();
          setReady(true);
        } catch (thrown) {
          setError(thrown);
        }
      })();
    }, [attempt]);
    const View = loaded;
    if (View !== undefined) return <View {...props} />;
    if (error === undefined) return <Skeleton rows={6} />;
    const retry = () => {
      setError(undefined);
      setAttempt(attempt + 1);
    };
    return <ErrorBox error={errorFrom(error)} onRetry={retry} />;
  };
}

/** Safari has no requestIdleCallback. */
function whenIdle(work: () => void): void {
  if (typeof requestIdleCallback === "function") requestIdleCallback(work);
  else setTimeout(work, 500);
}
