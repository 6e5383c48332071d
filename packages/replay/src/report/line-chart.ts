import { formatNumber } from './format.js';
import { type Html, html } from './html.js';

/** One line of a chart. */
export interface Series {
  /** Values by x, starting at 0. */
  readonly values: readonly number[];
  /** The x positions to mark with a dot. */
  readonly marks: readonly number[];
}

const WIDTH = 880;
const HEIGHT = 300;
const MARGIN = { top: 16, right: 16, bottom: 36, left: 56 };
/** Maximum points of a line. More would not be visible at this width. */
const MAX_POINTS = 400;
/** Maximum marks of a line. If there are more, none is drawn, because they would hide the line. */
const MAX_MARKS = 60;

/** Draws the tokens of each request, and the window as a limit, as an SVG element. Lines have the classes `series-0`, `series-1`, …. */
export function lineChart(series: readonly Series[], window: number): Html {
  const longest = Math.max(2, ...series.map(({ values }) => values.length));
  const highest = roundUp(Math.max(1, window, ...series.flatMap(({ values }) => values)));
  const [right, bottom] = [WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom];
  const left = (position: number) => MARGIN.left + ((right - MARGIN.left) * position) / (longest - 1);
  const top = (value: number) => bottom - ((bottom - MARGIN.top) * value) / highest;
  const across = (kind: string, value: number) =>
    html`<line class="${kind}" x1="${MARGIN.left}" x2="${right}" y1="${top(value)}" y2="${top(value)}"/>`;
  const text = (at: number, height: number, words: string, anchor = 'end') =>
    html`<text x="${at}" y="${height}" text-anchor="${anchor}">${words}</text>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * highest);
  const path = (values: readonly number[]) =>
    `M${downsample(values)
      .map(([at, value]) => `${left(at).toFixed(1)} ${top(value).toFixed(1)}`)
      .join('L')}`;
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Tokens of each request by strategy">
${ticks.flatMap((tick) => [across('grid', tick), text(MARGIN.left - 8, top(tick) + 4, formatNumber(tick))])}
${text(right, HEIGHT - 10, 'model calls')}${text(MARGIN.left, 12, 'tokens of the request', 'start')}
${across('limit', window)}${text(right, top(window) - 4, 'window')}
${series.flatMap(({ values, marks }, index) => [
  html`<path class="series-${index}" d="${path(values)}"/>`,
  ...(marks.length > MAX_MARKS ? [] : marks).map(
    (at) => html`<circle class="series-${index}" cx="${left(at)}" cy="${top(values[at] ?? 0)}" r="3"/>`,
  ),
])}
</svg>`;
}

/**
 * Reduces a line to at most `MAX_POINTS` points, each with its position. Keeps the highest value of each range, so that requests above the
 * window stay visible.
 */
function downsample(values: readonly number[]): readonly (readonly [number, number])[] {
  const range = Math.ceil(values.length / MAX_POINTS);
  return Array.from({ length: Math.ceil(values.length / range) }, (_, index) => {
    const part = values.slice(index * range, (index + 1) * range);
    const highest = Math.max(...part);
    return [index * range + part.indexOf(highest), highest];
  });
}

/** Rounds up to a round number: 1, 2, 2.5 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 2.5, 5, 10].find((step) => step * power >= value) ?? 10);
}
