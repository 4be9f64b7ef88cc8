import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href } from "../../router.ts";
import { ValuePart } from "../journal/ValuePart.tsx";
import { Loaded } from "./Loaded.tsx";
import { useLimit } from "./pages.tsx";
import { authorText, type Change, type TabProps } from "./texts.ts";

/** All changes of an item, newest first, with who made them and why. */
export function History({ workspace, item, changes }: TabProps & { readonly item: string }): VNode {
  const { limit, more } = useLimit();
  const input = { workspace, item, limit, maxBytes: 1_000_000 };
  const log = useResource(JSON.stringify([input, changes]), (signal) =>
    call("workspace-log", input, { signal }),
  );
  return (
    <Loaded of={log}>
      {(data) => (
        <>
          <div class="actions">
            <CopyMenu
              cli={commandText("workspace log", [workspace, item])}
              code={`for await (const change of workspace.history(${addressOf(data.items[0])})) console.log(change);`}
            />
          </div>
          {data.items.length === 0 ? (
            <p class="faint">The log has no change of this item: it was trimmed, or there never was one.</p>
          ) : null}
          <ol class="workspace-history" aria-label="History">
            {data.items.map(({ version, kind, at, author, reason, value }) => (
              <li key={version}>
                <h3>
                  <span>{kind === "delete" ? "Deleted" : `Version ${version}`}</span> <Time at={at} />{" "}
                  <a
                    href={href(
                      "workspace",
                      { workspace },
                      { tab: "diff", of: item, from: version - 1, to: version },
                    )}
                  >
                    Diff<span class="unseen"> of version {version}</span>
                  </a>
                </h3>
                <p class="workspace-text dim">by {authorText(author) || "an unnamed agent"}</p>
                {reason === undefined ? null : <p class="workspace-text">{reason}</p>}
                {kind === "delete" ? null : <ValuePart title="Value" view={value} none="" />}
              </li>
            ))}
          </ol>
          {more(data.cursor)}
        </>
      )}
    </Loaded>
  );
}

/** The arguments that name an item in code. */
function addressOf(change: Change | undefined): string {
  return [change?.namespace ?? [], change?.key ?? ""].map((part) => JSON.stringify(part)).join(", ");
}
