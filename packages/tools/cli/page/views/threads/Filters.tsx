import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button, IconButton } from "../../design/Button.tsx";
import { Select } from "../../design/Field.tsx";
import { Icon } from "../../icons.tsx";
import { setQuery } from "../../router.ts";

interface FiltersProps {
  readonly filter: readonly string[];
  readonly tag: readonly string[];
}

/** The filters of the list, and a form to add more. All filters are in the address. */
export function Filters({ filter, tag }: FiltersProps): VNode {
  const [adding, setAdding] = useState(false);
  const remove = (kind: "filter" | "tag", text: string) =>
    setQuery({ [kind]: (kind === "filter" ? filter : tag).filter((each) => each !== text) });
  return (
    <div class="filters">
      {filter.map((text) => (
        <Chip key={text} kind="metadata" text={text} onRemove={() => remove("filter", text)} />
      ))}
      {tag.map((text) => (
        <Chip key={text} kind="tag" text={text} onRemove={() => remove("tag", text)} />
      ))}
      {adding ? (
        <AddFilter
          onAdd={(kind, text) => {
            setAdding(false);
            if (kind === "filter") setQuery({ filter: [...new Set([...filter, text])] });
            else setQuery({ tag: [...new Set([...tag, text])] });
          }}
          onClose={() => setAdding(false)}
        />
      ) : (
        <Button tone="quiet" size="small" icon="filter" onClick={() => setAdding(true)}>
          Filter
        </Button>
      )}
    </div>
  );
}

function Chip({ kind, text, onRemove }: { kind: string; text: string; onRemove: () => void }): VNode {
  return (
    <span class="chip">
      <Icon name={kind === "tag" ? "tag" : "filter"} size={12} />
      <span class="mono clip">{text}</span>
      <IconButton icon="close" label={`Remove the filter ${kind} ${text}`} onClick={onRemove} />
    </span>
  );
}

interface AddFilterProps {
  readonly onAdd: (kind: "filter" | "tag", text: string) => void;
  readonly onClose: () => void;
}

function AddFilter({ onAdd, onClose }: AddFilterProps): VNode {
  const [kind, setKind] = useState("filter");
  const [text, setText] = useState("");
  const isPair = /^[^=\s]+=/.test(text.trim());
  return (
    <form
      class="add-filter"
      onSubmit={(event) => {
        event.preventDefault();
        if (isPair) onAdd(kind === "tag" ? "tag" : "filter", text.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <Select
        compact
        label="What to filter by"
        value={kind}
        onChange={setKind}
        options={[
          { value: "filter", label: "Metadata" },
          { value: "tag", label: "Tag" },
        ]}
      />
      <input
        class="input mono"
        aria-label="Key and value, as key=value"
        placeholder="key=value"
        value={text}
        autofocus
        ref={(element) => element?.focus()}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Button size="small" submit disabled={!isPair}>
        Add
      </Button>
      <IconButton icon="close" label="Cancel" onClick={onClose} />
    </form>
  );
}
