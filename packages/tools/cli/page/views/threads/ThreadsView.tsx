import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { may } from "../../api/client.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Button } from "../../design/Button.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { commandText } from "../../design/commandText.ts";
import { countText } from "../../design/units.ts";
import { useNarrow } from "../../list/useNarrow.ts";
import { VirtualList } from "../../list/VirtualList.tsx";
import { href, navigate, route, setQuery } from "../../router.ts";
import { Filters } from "./Filters.tsx";
import { ThreadRow } from "./ThreadRow.tsx";
import "./threads.css";
import { useThreads } from "./useThreads.ts";

/** The thread that was chosen last. It is still chosen when a person returns to the list. */
const chosen = signal<string | undefined>(undefined);

/** All threads, the newest first. */
export function ThreadsView(): VNode {
  const { query } = route.value;
  const search = query.get("q") ?? "";
  const filter = query.getAll("filter");
  const tag = query.getAll("tag");
  const { listing, error, loading, more, atTop, changed, showChanges, reload } = useThreads({
    search,
    filter,
    tag,
  });
  const narrow = useNarrow();
  const box = useRef<HTMLDivElement>(null);
  atTop.current = () => (box.current?.querySelector(".list")?.scrollTop ?? 0) < 4;
  const items = listing?.items ?? [];
  const active = items.findIndex(({ thread }) => thread === chosen.value);
  const isNarrowed = search !== "" || filter.length > 0 || tag.length > 0;
  const open = (index: number) => {
    chosen.value = items[index]!.thread;
    navigate(href("thread", { thread: items[index]!.thread }));
  };
  useEffect(() => {
    // A search through many threads may return a short page that doesn't fill the window.
    if (listing !== undefined && listing.cursor !== undefined && items.length < 40) void more();
  }, [listing]);
  const isMore = listing?.cursor !== undefined;
  return (
    <div class="threads" ref={box}>
      <header class="threads-head">
        <h1>Threads</h1>
        {listing === undefined ? null : (
          <span class="faint">
            {countText(items.length)}
            {isMore ? "+" : ""}
            {search === "" ? "" : ` with “${search}”`}
          </span>
        )}
        <Filters filter={filter} tag={tag} />
        <div class="spacer" />
        {changed === 0 ? null : (
          <Button
            size="small"
            icon="up"
            onClick={() => {
              showChanges();
              box.current?.querySelector(".list")?.scrollTo({ top: 0 });
            }}
          >
            {`${changed} new`}
          </Button>
        )}
        <CopyMenu cli={commandText("threads", [], { search, filter, tag })} code={codeOf(filter, tag)} />
      </header>
      {error === undefined ? null : <ErrorBox error={error} onRetry={() => void reload()} />}
      {listing === undefined ? (
        loading ? (
          <Skeleton rows={10} />
        ) : null
      ) : items.length === 0 && !isMore ? (
        <Nothing isNarrowed={isNarrowed} />
      ) : (
        <>
          <div class="threads-columns" aria-hidden="true">
            <span>Thread</span>
            <span>About</span>
            <span class="num thread-count">Checkpoints</span>
            <span class="num">Size</span>
            <span class="num">Written</span>
          </div>
          <div class="threads-list">
            <VirtualList
              label="Threads"
              role="grid"
              keysScope="Threads"
              count={items.length}
              rowHeight={narrow ? 56 : 36}
              keyOf={(index) => items[index]!.thread}
              active={active}
              onActive={(index) => (chosen.value = items[index]!.thread)}
              onOpen={open}
              openOnClick
              onNearEnd={more}
              row={(index) => <ThreadRow item={items[index]!} search={search} />}
            />
          </div>
        </>
      )}
    </div>
  );
}

function Nothing({ isNarrowed }: { readonly isNarrowed: boolean }): VNode {
  if (isNarrowed)
    return (
      <Empty title="No thread matches" icon="search">
        <p>
          The search looks for a part of the id. Filters look at the newest checkpoint’s metadata, or at tags.
        </p>
        <div>
          <Button onClick={() => setQuery({ q: null, filter: null, tag: null })}>Show all threads</Button>
        </div>
      </Empty>
    );
  return (
    <Empty title="No threads yet" icon="threads">
      <p>
        Threads appear here as soon as a graph runs with this storage as its checkpointer
        {may("write") ? "." : ". Nothing has to be reloaded."}
      </p>
    </Empty>
  );
}

function codeOf(filter: readonly string[], tag: readonly string[]): string {
  const entries = (texts: readonly string[]) =>
    texts
      .map((text) => text.split(/=(.*)/s, 2))
      .map(([key = "", value = ""]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`)
      .join(", ");
  const options = [
    ...(filter.length === 0 ? [] : [`filter: { ${entries(filter)} }`]),
    ...(tag.length === 0 ? [] : [`tag: { ${entries(tag)} }`]),
  ].join(", ");
  return `const { threads } = await checkpointer.listThreads(${options === "" ? "" : `{ ${options} }`});`;
}
