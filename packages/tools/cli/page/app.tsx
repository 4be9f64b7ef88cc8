import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { connection, storageError, tokenRefused } from "./api/client.ts";
import { Empty } from "./design/Empty.tsx";
import { Toasts } from "./design/Toast.tsx";
import "./frame/frame.css";
import { Boundary } from "./frame/Boundary.tsx";
import { GoTo, goToOpen } from "./frame/GoTo.tsx";
import { Help, helpOpen } from "./frame/Help.tsx";
import { Nav } from "./frame/Nav.tsx";
import { TokenForm } from "./frame/TokenForm.tsx";
import { TopBar } from "./frame/TopBar.tsx";
import { Icon } from "./icons.tsx";
import { useKeys } from "./keys.ts";
import { lazy } from "./lazy.tsx";
import { route } from "./router.ts";
import { ThreadsView } from "./views/threads/ThreadsView.tsx";

const ThreadView = lazy(() => import("./views/thread/ThreadView.tsx").then((module) => module.ThreadView), {
  ahead: "idle",
});
const DiffView = lazy(() => import("./views/diff/DiffView.tsx").then((module) => module.DiffView));
const BlameView = lazy(() => import("./views/blame/BlameView.tsx").then((module) => module.BlameView));
const CompareView = lazy(() =>
  import("./views/compare/CompareView.tsx").then((module) => module.CompareView),
);
const ConflictsView = lazy(() =>
  import("./views/conflicts/ConflictsView.tsx").then((module) => module.ConflictsView),
);
const InboxView = lazy(() => import("./views/inbox/InboxView.tsx").then((module) => module.InboxView));
const WorkspacesView = lazy(() =>
  import("./views/workspace/WorkspacesView.tsx").then((module) => module.WorkspacesView),
);
const WorkspaceView = lazy(() =>
  import("./views/workspace/WorkspaceView.tsx").then((module) => module.WorkspaceView),
);
const MergeView = lazy(() => import("./views/merge/MergeView.tsx").then((module) => module.MergeView));
const WhatIfView = lazy(() => import("./views/whatif/WhatIfView.tsx").then((module) => module.WhatIfView));
const StorageView = lazy(() =>
  import("./views/storage/StorageView.tsx").then((module) => module.StorageView),
);
const VerifyView = lazy(() => import("./views/verify/VerifyView.tsx").then((module) => module.VerifyView));
const WhyView = lazy(() => import("./views/journal/WhyView.tsx").then((module) => module.WhyView));

/** The frame of the page, and the view that its address names. */
export function App(): VNode {
  const { path } = route.value;
  useKeys(
    {
      ":": { label: "Go to a thread or checkpoint", run: () => void (goToOpen.value = true) },
      "?": { label: "Show these keys", run: () => void (helpOpen.value = true) },
      Escape: { label: "Close what is open", run: () => false },
    },
    "Everywhere",
  );
  useEffect(() => {
    document.title = titleOf();
  }, [path]);
  return (
    <div class="app">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <TopBar />
      {connection.value === "lost" ? (
        <div class="bar" role="alert">
          <Icon name="warning" size={14} />
          <span>Connection lost, retrying. Is the inspector still running?</span>
        </div>
      ) : storageError.value !== undefined ? (
        <div class="bar" role="alert">
          <Icon name="storage" size={14} />
          <span class="clip">{storageError.value}</span>
        </div>
      ) : null}
      <Nav />
      <main id="main" class="main" tabIndex={-1}>
        {tokenRefused.value ? (
          <TokenForm />
        ) : (
          <Boundary at={path}>
            <Current />
          </Boundary>
        )}
      </main>
      <Toasts />
      <Help />
      <GoTo />
    </div>
  );
}

function Current(): VNode {
  const { view, params, query } = route.value;
  const thread = params["thread"]!;
  switch (view) {
    case "threads":
      return <ThreadsView />;
    case "thread":
    case "checkpoint":
    case "journal":
    case "threadStorage":
      // The key has the namespace: another namespace starts with a new view, so no checkpoint is looked for in the wrong one.
      return <ThreadView key={JSON.stringify([thread, query.get("ns")])} thread={thread} />;
    case "why":
      return <WhyView thread={thread} />;
    case "merge":
      return <MergeView thread={thread} />;
    case "diff":
      return <DiffView />;
    case "blame":
      return <BlameView />;
    case "compare":
      return <CompareView />;
    case "conflicts":
      return <ConflictsView />;
    case "inbox":
      return <InboxView />;
    case "workspaces":
      return <WorkspacesView />;
    case "workspace":
      return <WorkspaceView key={params["workspace"]} workspace={params["workspace"]!} />;
    case "whatif":
      return <WhatIfView />;
    case "storage":
      return <StorageView />;
    case "verify":
      return <VerifyView />;
    case "unknown":
      return (
        <Empty title="There is no such page" icon="search">
          <h1 class="unseen">Not found</h1>
          <p>
            <a href="/">All threads</a>
          </p>
        </Empty>
      );
  }
}

const titles: Readonly<Record<string, string>> = {
  threads: "Threads",
  inbox: "Inbox",
  diff: "Diff",
  blame: "Blame",
  compare: "Compare",
  conflicts: "Conflicts",
  workspaces: "Workspaces",
  whatif: "What if",
  storage: "Storage",
  verify: "Health",
};

function titleOf(): string {
  const { view, params } = route.value;
  return `${params["thread"] ?? params["workspace"] ?? titles[view] ?? "Not found"} · Stratigraph`;
}
