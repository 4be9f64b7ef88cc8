import type { VNode } from "preact";
import { route, setQuery } from "../../router.ts";

interface FilterProps {
  /** The parameter of the address that holds it. */
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
}

/** A text that says what is shown, kept in the address. It counts once Enter is pressed or the focus moves on. */
export function Filter({ name, label, placeholder }: FilterProps): VNode {
  return (
    <input
      class="input workspace-filter"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={route.value.query.get(name) ?? ""}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  );
}

/** For the parameter `prefix`. */
export function PrefixFilter(): VNode {
  return <Filter name="prefix" label="Only namespaces below" placeholder="Only below: plan.2026" />;
}
