import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { useResource } from "../../api/resource.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Button } from "../../design/Button.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Select } from "../../design/Field.tsx";
import { Pill } from "../../design/Pill.tsx";
import "../../design/table.css";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { countText } from "../../design/units.ts";
import { route, setQuery } from "../../router.ts";
import { inline } from "../../values/describe.ts";
import { AuditBadge } from "./AuditBadge.tsx";
import { CallDrawer } from "./CallDrawer.tsx";
import "./journal.css";
import { Questions } from "./Questions.tsx";
import { resultText } from "./resultText.ts";
import { statusOf, statusOptions, tookText, type Call } from "./texts.ts";

/** How many calls are shown at first, and at most. */
const [firstPage, longestPage] = [100, 1000];

/** How many characters of arguments and results a row shows. */
const valueLength = 90;

/** The calls of a thread: open questions, the audit of the chain, and every call with its outcome. */
export function JournalView({ thread }: { readonly thread: string }): VNode {
  const { query } = route.value;
  const tool = query.get("tool") ?? "";
  const status = query.get("status") ?? "";
  const order = query.get("order") === "oldest" ? "oldest" : "newest";
  const [limit, setLimit] = useState(firstPage);
  const [version, setVersion] = useState(0);
  const input = {
    thread,
    order,
    limit,
    ...(tool === "" ? {} : { tool }),
    ...(status === "" ? {} : { status: status as Call["status"] }),
  } as const;
  const listed = useResource(JSON.stringify(["calls", input]), (signal) => call("calls", input, { signal }));
  const asked = useResource(`questions of ${thread}`, (signal) => call("questions", { thread }, { signal }));
  const reload = () => {
    listed.reload();
    asked.reload();
    setVersion((n) => n + 1);
  };
  useChanges(thread, reload);
  const { data } = listed;
  if (listed.error !== undefined) return <ErrorBox error={listed.error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={8} />;
  const questions = asked.data?.items ?? [];
  if (data.total === 0 && questions.length === 0)
    return (
      <Empty title="No calls were recorded" icon="tool">
        <p>
          Tools that are wrapped by a journal are listed here: each call with its outcome, made once and never
          twice.
        </p>
      </Empty>
    );
  const cli = commandText("calls", [thread], { tool, status });
  return (
    <div class="journal">
      <Questions questions={questions} onAnswered={reload} />
      <div class="journal-bar">
        <Select
          compact
          label="Tool"
          value={tool}
          onChange={(value) => setQuery({ tool: value })}
          options={[
            { value: "", label: `All tools (${countText(data.total)})` },
            ...data.tools.map((each) => ({
              value: each.tool,
              label: `${each.tool} (${countText(each.calls)})`,
            })),
          ]}
        />
        <Select
          compact
          label="Status"
          value={status}
          onChange={(value) => setQuery({ status: value })}
          options={statusOptions}
        />
        <Select
          compact
          label="Order"
          value={order}
          onChange={(value) => setQuery({ order: value === "oldest" ? value : "" })}
          options={[
            { value: "newest", label: "Newest first" },
            { value: "oldest", label: "Oldest first" },
          ]}
        />
        <div class="spacer" />
        <AuditBadge thread={thread} calls={data.total} version={version} />
        <CopyMenu cli={cli} code={`const calls = await journal.calls(${JSON.stringify(thread)});`} />
      </div>
      {data.items.length === 0 ? (
        <Empty title="No call fits the filter" icon="filter" />
      ) : (
        <CallRows items={data.items} />
      )}
      {data.cursor === undefined ? null : (
        <div class="journal-more">
          {limit >= longestPage ? (
            <span class="faint">
              The first {countText(longestPage)} are shown. Filter by tool or status to see others.
            </span>
          ) : (
            <Button size="small" onClick={() => setLimit(Math.min(longestPage, limit * 3))}>
              Show more
            </Button>
          )}
        </div>
      )}
      <CallDrawer
        thread={thread}
        chosen={query.get("call") ?? undefined}
        onClose={() => setQuery({ call: null })}
      />
    </div>
  );
}

function CallRows({ items }: { readonly items: readonly Call[] }): VNode {
  return (
    <div class="table-wrap journal-calls">
      <table class="table" aria-label="Calls">
        <thead>
          <tr>
            <th scope="col">Call</th>
            <th scope="col">Status</th>
            <th scope="col">Outcome</th>
            <th scope="col">Node</th>
            <th scope="col" class="num">
              Attempts
            </th>
            <th scope="col" class="num">
              Replays
            </th>
            <th scope="col" class="num">
              Took
            </th>
            <th scope="col" class="num">
              Made
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <CallRow key={item.call} item={item} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CallRow({ item }: { readonly item: Call }): VNode {
  const { call: fingerprint, tool, status, args, result, error, where, attempts, replays, ms, begun } = item;
  const { label, tone, title } = statusOf(status);
  const open = () => setQuery({ call: fingerprint }, { replace: false });
  return (
    <tr class="journal-row" onClick={open}>
      <th scope="row">
        <button type="button" class="journal-open mono clip" title={fingerprint}>
          <strong>{tool}</strong>
          <span class="dim">({args === undefined ? "erased" : inline(args.value, valueLength)})</span>
        </button>
      </th>
      <td>
        <Pill tone={tone} title={title}>
          {label}
        </Pill>
      </td>
      <td class="journal-outcome mono clip dim">
        {error ?? (result === undefined ? "" : resultText(result.value, valueLength))}
      </td>
      <td class="dim">{where.node ?? ""}</td>
      <td class={attempts > 1 ? "num" : "num faint"}>{attempts}</td>
      <td class={replays > 0 ? "num" : "num faint"}>{replays}</td>
      <td class="num dim">{ms === undefined ? "" : tookText(ms)}</td>
      <td class="num dim">{begun === undefined ? "" : <Time at={begun} />}</td>
    </tr>
  );
}
