import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { Pill, type Tone } from "../../design/Pill.tsx";
import { AskedSection } from "./Section.tsx";
import { useAsked } from "./useAsked.ts";

type Item = OutputOf<"doctor">["items"][number];

const tones: Readonly<Record<Item["status"], Tone>> = {
  ok: "green",
  warning: "amber",
  problem: "red",
  unknown: "neutral",
};
const ranks: readonly Item["status"][] = ["problem", "warning", "unknown", "ok"];

/** Whether the storages are set up correctly, and what to do if they aren't. */
export function Doctor(): VNode {
  const asked = useAsked((signal) => call("doctor", {}, { signal }));
  return (
    <AskedSection
      title="Set-up"
      asked={asked}
      button="Check"
      stops={false}
      hint="Rights, versions, settings and clocks of every storage, with what to do where something is wrong. No thread is read."
    >
      {(data) => (
        <ul class="doctor">
          {data.items
            .toSorted((a, b) => ranks.indexOf(a.status) - ranks.indexOf(b.status))
            .map(({ tier, role, check, status, found, advice }) => (
              <li key={`${tier} ${role ?? ""} ${check}`}>
                <Pill tone={tones[status]}>{status}</Pill>
                <span class="dim">{role === undefined ? tier : `${tier} (${role})`}</span>
                <span>{check}</span>
                <span class="doctor-found">
                  {found}
                  {advice === undefined || status === "ok" ? null : (
                    <span class="doctor-advice dim">{advice}</span>
                  )}
                </span>
              </li>
            ))}
        </ul>
      )}
    </AskedSection>
  );
}
