import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import type { TimelinePoint } from '../../../src/server/transcript.js';
import { Fold } from '../components/fold.js';
import { compactionTitle } from '../lib/compaction-words.js';
import { exactCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { info } from '../state/info.js';
import { entries, timeline } from '../state/session.js';
import { axes, drawLine } from './axes.js';
import { ChartBox } from './chart-box.js';

/** The window over the whole session: tokens by source as stacked areas, compactions as lines. */
export function WindowArea() {
  const pointed = useSignal<number | undefined>(undefined);
  const points = timeline.value;
  const data = useMemo(() => stacked(points), [points]);
  const trigger = info.value?.triggerTokens ?? 0;
  const index = Math.min(pointed.value ?? points.length - 1, points.length - 1);
  const words = pointInWords(points, index);
  return (
    <>
      <ChartBox
        label="Tokens in the window, step by step"
        valueText={words.join(', ')}
        height={240}
        data={data}
        onPoint={(at) => {
          pointed.value = at;
        }}
        options={(colorOf) => ({
          axes: axes(colorOf),
          scales: { x: { time: false }, y: { range: () => [0, peakOf(points, trigger) * 1.08] } },
          cursor: { y: false, points: { show: false } },
          series: [
            {},
            // From the top of the stack down: each covers what is below it.
            ...sources.toReversed().map(({ className }) => {
              const color = colorOf(`.${className}`);
              return { stroke: color, fill: color, width: 1, points: { show: false } };
            }),
          ],
          hooks: {
            draw: [
              (plot: uPlot) => {
                if (trigger > 0) drawLine(plot, trigger, colorOf('--text'));
                drawCompactions(plot, points, colorOf('--text'), colorOf('--background'));
              },
            ],
          },
        })}
      />
      <p class="chart-readout">
        <strong>{words[0]}</strong> {words.slice(1).join(' · ')}
      </p>
      <Fold id="window-table" line={<span class="chart-as-table">As a table</span>}>
        {() => <WindowTable points={points} />}
      </Fold>
    </>
  );
}

/** The most that is drawn: a compaction also shows what was there before it. */
function peakOf(points: readonly TimelinePoint[], trigger: number): number {
  const tokens = points.map((point) =>
    point.type === 'compaction' ? Math.max(point.tokensBefore, point.context.total) : point.context.total,
  );
  return Math.max(1, trigger, ...tokens);
}

/** Cumulated sums, the largest first, as they are drawn over each other. */
function stacked(points: readonly TimelinePoint[]): uPlot.AlignedData {
  const steps = points.map((_, index) => index + 1);
  const sums = sources.map((_, upTo) =>
    points.map(({ context }) => sources.slice(0, upTo + 1).reduce((sum, { key }) => sum + context[key], 0)),
  );
  return [steps, ...sums.toReversed()];
}

function drawCompactions(
  plot: uPlot,
  points: readonly TimelinePoint[],
  color: string,
  background: string,
): void {
  const { ctx, bbox } = plot;
  const pixel = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = pixel;
  for (const [index, point] of points.entries()) {
    if (point.type !== 'compaction') continue;
    const x = Math.round(plot.valToPos(index + 1, 'x', true));
    const applied = point.status === 'applied';
    ctx.setLineDash(applied ? [] : [2 * pixel, 3 * pixel]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.arc(x, plot.valToPos(point.tokensBefore, 'y', true), 4 * pixel, 0, 2 * Math.PI);
    ctx.fillStyle = applied ? color : background;
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

function pointInWords(points: readonly TimelinePoint[], index: number): readonly string[] {
  const point = points[index];
  if (!point) return ['No step yet'];
  const { context } = point;
  const parts = sources
    .filter(({ key }) => context[key] > 0)
    .map(({ key, name }) => `${name} ${exactCount(context[key])}`);
  return [`${nameOf(points, index)}: ${exactCount(context.total)} tokens`, ...parts];
}

function nameOf(points: readonly TimelinePoint[], index: number): string {
  const point = points[index];
  if (point?.type !== 'compaction') return `Step ${index + 1}`;
  const entry = entries.peek().find(({ id }) => id === point.compactionId);
  const head = entry?.type === 'compaction' ? compactionTitle(entry.compaction).head : 'Compaction';
  return `${head}, from ${exactCount(point.tokensBefore)}`;
}

function WindowTable({ points }: { readonly points: readonly TimelinePoint[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys.
    <div class="inspect-table" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Step</th>
            {sources.map(({ key, name }) => (
              <th key={key} scope="col">
                {name}
              </th>
            ))}
            <th scope="col">All</th>
          </tr>
        </thead>
        <tbody>
          {points.map(({ context }, index) => (
            <tr key={index}>
              <th scope="row">{nameOf(points, index)}</th>
              {sources.map(({ key }) => (
                <td key={key}>{exactCount(context[key])}</td>
              ))}
              <td>{exactCount(context.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
