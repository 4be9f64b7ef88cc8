import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { errorFrom } from "../../api/resource.ts";
import { jsonProblem } from "../../changes/jsonProblem.ts";
import { Field } from "../../design/Field.tsx";
import { Pill } from "../../design/Pill.tsx";
import { toast } from "../../design/Toast.tsx";

import type { Choice } from "./choices.ts";

type Planned = NonNullable<OutputOf<"merge">["plan"]>["channels"][number];

interface ChannelChoiceProps {
  readonly thread: string;
  readonly planned: Planned;
  readonly choice: Choice | undefined;
  /** Whether the channel isn't settled yet. */
  readonly open: boolean;
  readonly onChoose: (choice: Choice) => void;
}

/** A channel that both sides changed: their values with the base in the middle, and the choice of the merged value. */
export function ChannelChoice({ thread, planned, choice, open, onChoose }: ChannelChoiceProps): VNode {
  const { name, reason, kind } = planned;
  const group = useId();
  const [loading, setLoading] = useState(false);
  const byHand = async () => {
    setLoading(true);
    try {
      const { channels } = await call("show", { at: thread, channel: name, maxBytes: 2_000_000 });
      onChoose({ kind: "hand", text: JSON.stringify(channels[0]?.value ?? null, null, 2) });
    } catch (thrown) {
      toast(errorFrom(thrown).message, "red");
    }
    setLoading(false);
  };
  const option = (of: Exclude<Choice["kind"], "hand">, label: string) => (
    <label class="merge-option">
      <input
        type="radio"
        name={group}
        checked={choice?.kind === of}
        onChange={() => onChoose({ kind: of })}
      />
      {label}
    </label>
  );
  return (
    <fieldset class={`card merge-channel${open ? " merge-open" : ""}`}>
      <legend class="unseen">{name}</legend>
      <header class="merge-channel-head">
        <h3 class="mono">{name}</h3>
        <span class="dim">{reason}</span>
        <span class="spacer" />
        {open ? <Pill tone="amber">open</Pill> : <Pill tone="green">settled</Pill>}
      </header>
      <div class="merge-sides">
        <Side of="Ours" text={planned.ours} chosen={choice?.kind === "ours"}>
          {option("ours", "Take ours")}
        </Side>
        <Side of="Base" text={planned.base} chosen={choice?.kind === "base"}>
          {option("base", "Back to the base")}
        </Side>
        <Side of="Theirs" text={planned.theirs} chosen={choice?.kind === "theirs"}>
          {option("theirs", "Take theirs")}
        </Side>
      </div>
      <div class="merge-more">
        {kind === "control" ? null : (
          <>
            {option("union", "Union of both")}
            {option("reducer", "By the channel’s reducer")}
          </>
        )}
        <label class="merge-option">
          <input
            type="radio"
            name={group}
            checked={choice?.kind === "hand"}
            disabled={loading}
            onChange={() => void byHand()}
          />
          By hand
        </label>
      </div>
      {choice?.kind === "hand" ? (
        <Field
          label={`Value of ${name}`}
          value={choice.text}
          onInput={(text) => onChoose({ kind: "hand", text })}
          rows={Math.min(16, Math.max(4, choice.text.split("\n").length + 1))}
          mono
          error={jsonProblem(choice.text)}
          hint="JSON, as the serializer writes it. It begins with our value."
        />
      ) : null}
    </fieldset>
  );
}

interface SideProps {
  readonly of: string;
  readonly text: string;
  readonly chosen: boolean;
  readonly children: VNode;
}

function Side({ of, text, chosen, children }: SideProps): VNode {
  return (
    <div class={chosen ? "merge-side merge-chosen" : "merge-side"}>
      <h4>{of}</h4>
      <pre class="merge-value">{text === "no value" ? <span class="faint">no value</span> : text}</pre>
      {children}
    </div>
  );
}
