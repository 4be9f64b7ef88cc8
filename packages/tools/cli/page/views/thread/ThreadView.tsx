import type { VNode } from "preact";
import { lazy } from "../../lazy.tsx";
import { route } from "../../router.ts";
import { HistoryView } from "./HistoryView.tsx";
import "./thread.css";
import { ThreadHead } from "./ThreadHead.tsx";
import { useHistory } from "./useHistory.ts";

const JournalView = lazy(() => import("../journal/JournalView.tsx").then((module) => module.JournalView));
const ThreadStorage = lazy(() =>
  import("../storage/ThreadStorage.tsx").then((module) => module.ThreadStorage),
);

/** A thread: its header and one of its parts. */
export function ThreadView({ thread }: { readonly thread: string }): VNode {
  const { view, query } = route.value;
  const namespace = query.get("ns") ?? "";
  const loaded = useHistory(thread, namespace);
  return (
    <div class="thread">
      <ThreadHead thread={thread} namespace={namespace} history={loaded.history} />
      <div class="thread-part">
        {view === "journal" ? (
          <JournalView thread={thread} />
        ) : view === "threadStorage" ? (
          <ThreadStorage thread={thread} />
        ) : (
          <HistoryView key={namespace} thread={thread} namespace={namespace} loaded={loaded} />
        )}
      </div>
    </div>
  );
}
