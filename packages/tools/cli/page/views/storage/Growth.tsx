import type { VNode } from "preact";
import { bytesText, countText } from "../../design/units.ts";
import { growthColumns, type Stats } from "./figures.ts";

const [width, height, mostDays] = [600, 90, 60];

/** How much was added on each day and is still stored. */
export function Growth({ growth }: { readonly growth: Stats["growth"] }): VNode {
  const columns = growthColumns(growth.days, { width, height, most: mostDays });
  if (columns.length === 0) return <p class="faint">Nothing was added yet.</p>;
  const top = Math.max(...columns.map(({ bytes }) => bytes));
  return (
    <figure class="growth">
      <div class="growth-chart">
        <span class="growth-top faint">{bytesText(top)}</span>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Bytes added per day, at most ${bytesText(top)}`}
        >
          {columns.map(({ day, bytes, checkpoints, ...place }) => (
            <rect key={day} class="growth-column" {...place}>
              <title>{`${day}: ${bytesText(bytes)}, ${countText(checkpoints)} checkpoints`}</title>
            </rect>
          ))}
        </svg>
      </div>
      <figcaption class="faint">
        <span>{columns[0]!.day}</span>
        <span>{bytesText(growth.perDay)} a day, on average of the last 7</span>
        <span>{columns.at(-1)!.day}</span>
      </figcaption>
    </figure>
  );
}
