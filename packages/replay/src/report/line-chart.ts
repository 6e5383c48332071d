import { formatNumber } from './format.js';
import { type Html, html } from './html.js';

/** One line of a chart. */
export interface Series {
  readonly name: string;
  /** By x from 0. */
  readonly values: readonly number[];
  /** Positions that get a mark. */
  readonly marks: readonly number[];
}

export interface ChartOptions {
  readonly title: string;
  /** What x and y are. */
  readonly x: string;
  readonly y: string;
  /** A horizontal line, with its name. */
  readonly limit?: { readonly name: string; readonly value: number };
}

const WIDTH = 880;
const HEIGHT = 300;
const MARGIN = { top: 16, right: 16, bottom: 36, left: 56 };
/** More points than pixels show nothing more. */
const MAX_POINTS = 400;
/** More marks on a line hide it. */
const MAX_MARKS = 60;

/** A line chart as one SVG element, colored by the classes `series-0`, `series-1`, …. */
export function lineChart(series: readonly Series[], { title, x, y, limit }: ChartOptions): Html {
  const longest = Math.max(2, ...series.map(({ values }) => values.length));
  const highest = roundUp(Math.max(1, limit?.value ?? 0, ...series.flatMap(({ values }) => values)));
  const left = (position: number) =>
    MARGIN.left + ((WIDTH - MARGIN.left - MARGIN.right) * position) / (longest - 1);
  const top = (value: number) =>
    HEIGHT - MARGIN.bottom - ((HEIGHT - MARGIN.top - MARGIN.bottom) * value) / highest;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * highest);
  const place = (position: number, value: number) => `${left(position).toFixed(1)} ${top(value).toFixed(1)}`;
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
${ticks.map((tick) => html`<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${top(tick)}" y2="${top(tick)}"/><text x="${MARGIN.left - 8}" y="${top(tick) + 4}" text-anchor="end">${formatNumber(tick)}</text>`)}
<text x="${WIDTH - MARGIN.right}" y="${HEIGHT - 10}" text-anchor="end">${x}</text><text x="${MARGIN.left}" y="12">${y}</text>
${limit === undefined ? undefined : html`<line class="limit" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${top(limit.value)}" y2="${top(limit.value)}"/><text x="${WIDTH - MARGIN.right}" y="${top(limit.value) - 4}" text-anchor="end">${limit.name}</text>`}
${series.map(
  ({ values, marks }, index) =>
    html`<path class="series-${index}" d="${thinned(values)
      .map(([at, value], point) => `${point === 0 ? 'M' : 'L'}${place(at, value)}`)
      .join(
        '',
      )}"/>${(marks.length > MAX_MARKS ? [] : marks).map((at) => html`<circle class="series-${index}" cx="${left(at)}" cy="${top(values[at] ?? 0)}" r="3"/>`)}`,
)}
</svg>`;
}

/** At most so many points, each with its place; of every stretch the highest, since limits are what matters. */
function thinned(values: readonly number[]): readonly (readonly [number, number])[] {
  const stretch = Math.ceil(values.length / MAX_POINTS);
  const points: (readonly [number, number])[] = [];
  for (let start = 0; start < values.length; start += stretch) {
    let best: readonly [number, number] = [start, values[start] ?? 0];
    for (let at = start; at < Math.min(start + stretch, values.length); at++) {
      const value = values[at] ?? 0;
      if (value > best[1]) best = [at, value];
    }
    points.push(best);
  }
  return points;
}

/** The next number that reads well: 1, 2, 2.5 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 2.5, 5, 10].find((step) => step * power >= value) ?? 10);
}
