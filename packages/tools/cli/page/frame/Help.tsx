import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { Dialog } from "../design/Dialog.tsx";
import { Kbd } from "../design/Kbd.tsx";
import { registered } from "../keys.ts";

/** Whether the help is shown. */
export const helpOpen = signal(false);

/** All keys that do something on the page at the moment. */
export function Help(): VNode {
  return (
    <Dialog open={helpOpen.value} title="Keyboard" onClose={() => (helpOpen.value = false)}>
      {helpOpen.value ? <Keys /> : null}
    </Dialog>
  );
}

function Keys(): VNode {
  const scopes = new Map<string, Map<string, string[]>>();
  for (const { scope, keys } of registered.value) {
    const actions = scopes.get(scope) ?? new Map<string, string[]>();
    scopes.set(scope, actions);
    for (const [key, action] of Object.entries(keys))
      if (action !== undefined) actions.set(action.label, [...(actions.get(action.label) ?? []), key]);
  }
  return (
    <div class="help">
      {[...scopes]
        .filter(([, actions]) => actions.size > 0)
        .map(([scope, actions]) => (
          <section key={scope}>
            <h3>{scope}</h3>
            <dl>
              {[...actions].map(([label, keys]) => (
                <div key={label} class="help-row">
                  <dt>
                    {keys.map((key) => (
                      <Kbd key={key} keys={key} />
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
    </div>
  );
}
