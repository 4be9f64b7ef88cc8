import { bytes, ms } from "./format.ts";
import type { GrowthPoint } from "./jobs/growingThread.ts";

const [width, height, left, top, bottom] = [340, 210, 20, 46, 34];

/** A picture for light and dark pages: what is stored of a thread, and what a turn takes, with the official PostgresSaver and with ours. */
export function growthPicture(official: readonly GrowthPoint[], ours: readonly GrowthPoint[]): string {
  const panels = [
    panel("Stored, after a number of turns", official, ours, (point) => point.bytes, bytes),
    panel("Time of a turn", official, ours, (point) => point.ms, ms),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${2 * width}" height="${height}" viewBox="0 0 ${2 * width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="Storage and time per turn of a growing thread">
<style>text { fill: #57606a } .axis { stroke: #8c959f } .official { stroke: #cf222e } .ours { stroke: #1a7f37 } text.official { fill: #cf222e; stroke: none } text.ours { fill: #1a7f37; stroke: none } @media (prefers-color-scheme: dark) { text { fill: #9198a1 } .official { stroke: #ff7b72 } .ours { stroke: #3fb950 } text.official { fill: #ff7b72 } text.ours { fill: #3fb950 } }</style>
${panels.map((drawn, n) => `<g transform="translate(${n * width} 0)">\n${drawn}\n</g>`).join("\n")}
</svg>
`;
}

function panel(
  title: string,
  official: readonly GrowthPoint[],
  ours: readonly GrowthPoint[],
  figure: (point: GrowthPoint) => number,
  text: (value: number) => string,
): string {
  const all = [...official, ...ours];
  const most = { turns: Math.max(...all.map(({ turns }) => turns)), figure: Math.max(...all.map(figure)) };
  const right = width - 100;
  const ground = height - bottom;
  const x = (turns: number): number => round(left + ((right - left) * turns) / most.turns);
  const y = (value: number): number => round(ground - ((ground - top) * value) / most.figure);
  const line = (points: readonly GrowthPoint[], name: string): string[] => {
    const last = points.at(-1)!;
    return [
      `<polyline class="${name}" fill="none" stroke-width="2" points="${points.map((point) => `${x(point.turns)},${y(figure(point))}`).join(" ")}"/>`,
      `<text class="${name}" x="${right + 6}" y="${Math.min(ground, y(figure(last)) + 4)}">${text(figure(last))}</text>`,
    ];
  };
  return [
    `<text x="${left}" y="16" font-weight="600">${title}</text>`,
    `<text class="official" x="${left}" y="34">official PostgresSaver</text>`,
    `<text class="ours" x="${left + 142}" y="34">Stratigraph</text>`,
    `<path class="axis" fill="none" d="M${left} ${top}V${ground}H${right}"/>`,
    `<text x="${left}" y="${ground + 16}">0</text>`,
    `<text x="${right}" y="${ground + 16}" text-anchor="end">${most.turns} turns</text>`,
    ...line(official, "official"),
    ...line(ours, "ours"),
  ].join("\n");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
