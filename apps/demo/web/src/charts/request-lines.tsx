import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import type { ReplayAnswer } from '../../../src/server/replay-answer.js';
import { exactCount } from '../lib/format.js';
import { axes, drawLine } from './axes.js';
import { ChartBox } from './chart-box.js';

interface RequestLinesProps {
  readonly requests: ReplayAnswer['requests'];
  readonly window: number;
}

const colors = ['.source-system', '.source-conversation', '.source-summary', '.source-results'] as const;
const dashes = [[2, 4], [], [8, 4], [12, 4, 2, 4]];

/** Tokens of every request, a line a strategy; the window as a dashed line. */
export function RequestLines({ requests, window }: RequestLinesProps) {
  const pointed = useSignal<number | undefined>(undefined);
  const data = useMemo((): uPlot.AlignedData => {
    const count = Math.max(0, ...requests.map(({ tokens }) => tokens.length));
    const steps = Array.from({ length: count }, (_, index) => index + 1);
    return [steps, ...requests.map(({ tokens }) => [...tokens])];
  }, [requests]);
  const index = pointed.value ?? (data[0]?.length ?? 1) - 1;
  const words = requests
    .map(({ strategy, tokens }) => `${strategy} ${exactCount(tokens[index] ?? 0)}`)
    .join(', ');
  return (
    <>
      <ChartBox
        label="Tokens of every request, by strategy"
        valueText={`Request ${index + 1}: ${words}`}
        height={260}
        data={data}
        onPoint={(at) => {
          pointed.value = at;
        }}
        options={(colorOf) => ({
          axes: axes(colorOf),
          scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(most, window) * 1.05] } },
          cursor: { y: false, points: { show: false } },
          series: [
            {},
            ...requests.map((_, at) => ({
              stroke: colorOf(colors[at % colors.length] ?? '--text'),
              width: 2,
              dash: dashes[at % dashes.length] ?? [],
              points: { show: false },
            })),
          ],
          hooks: { draw: [(plot: uPlot) => drawLine(plot, window, colorOf('--text'))] },
        })}
      />
      <ul class="chart-legend">
        {requests.map(({ strategy, tokens }, at) => (
          <li key={strategy}>
            <svg width="24" height="4" class={colors[at % colors.length]?.slice(1)} aria-hidden="true">
              <line
                x2="24"
                y1="2"
                y2="2"
                stroke="currentColor"
                stroke-width="2"
                stroke-dasharray={dashes[at % dashes.length]?.join(' ')}
              />
            </svg>
            {strategy}: {exactCount(tokens[index] ?? 0)}
          </li>
        ))}
        <li>
          request {index + 1}, window {exactCount(window)}
        </li>
      </ul>
    </>
  );
}
