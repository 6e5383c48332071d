import './timeline.css';
import { useSignal } from '@preact/signals';
import type { TimelinePoint } from '../../../src/server/transcript.js';
import { exactCount, shortCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { hoveredSource } from '../state/hovered-source.js';
import { info } from '../state/info.js';
import { timeline } from '../state/session.js';

const WIDTH = 328;
const HEIGHT = 96;
/** Room under the bars for the marks of compactions. */
const FOOT = 12;
const WIDEST = 16;
/** As many as can be told apart. */
const MOST = 80;

/** The window step by step, stacked like the gauge; a compaction shows what it was before as an outline. */
export function Timeline() {
  const points = timeline.value.slice(-MOST);
  const pointed = useSignal<number | undefined>(undefined);
  const trigger = info.value?.triggerTokens ?? 0;
  const peak = Math.max(1, ...points.map((point) => Math.max(point.context.total, beforeOf(point))));
  // The trigger belongs into the picture unless it is so far off that nothing else would be seen.
  const top = trigger > 0 && peak > trigger / 4 ? Math.max(peak, trigger) * 1.06 : peak * 1.15;
  const pitch = Math.min(WIDEST, WIDTH / Math.max(points.length, 1));
  const width = Math.max(1, pitch - (pitch > 5 ? 2 : 1));
  const scale = (tokens: number) => (tokens / top) * (HEIGHT - FOOT);
  const at = pointed.value === undefined ? undefined : points[pointed.value];

  return (
    <figure class="timeline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={inWords(points)}>
        <line class="timeline-axis" x1="0" x2={WIDTH} y1={HEIGHT - FOOT + 0.5} y2={HEIGHT - FOOT + 0.5} />
        {points.map((point, index) => (
          <g
            key={`${point.at}-${point.type}`}
            transform={`translate(${index * pitch} ${HEIGHT - FOOT})`}
            onPointerEnter={() => {
              pointed.value = index;
            }}
            onPointerLeave={() => {
              pointed.value = undefined;
            }}
          >
            <rect class="timeline-hit" width={pitch} y={FOOT - HEIGHT} height={HEIGHT} />
            <Before point={point} width={width} scale={scale} />
            <Bar point={point} width={width} scale={scale} />
            <Mark point={point} width={width} />
          </g>
        ))}
        {trigger > 0 && trigger <= top && (
          <line
            class="timeline-trigger"
            x1="0"
            x2={WIDTH}
            y1={HEIGHT - FOOT - scale(trigger)}
            y2={HEIGHT - FOOT - scale(trigger)}
          />
        )}
      </svg>
      <figcaption>{at ? describe(at) : `Peak ${shortCount(peak)} · dashed: where it compacts`}</figcaption>
    </figure>
  );
}

interface PartProps {
  readonly point: TimelinePoint;
  readonly width: number;
  readonly scale: (tokens: number) => number;
}

function Bar({ point, width, scale }: PartProps) {
  let y = 0;
  return (
    <>
      {sources.map(({ key, className }) => {
        const height = scale(point.context[key]);
        y -= height;
        const dim = hoveredSource.value !== undefined && hoveredSource.value !== key;
        return height > 0 ? (
          <rect key={key} class={`timeline-part ${className}`} data-dim={dim} {...{ y, width, height }} />
        ) : null;
      })}
    </>
  );
}

function Before({ point, width, scale }: PartProps) {
  if (point.type !== 'compaction') return null;
  const height = scale(point.tokensBefore);
  return <rect class="timeline-before" x="0.5" y={0.5 - height} width={width - 1} height={height - 0.5} />;
}

function Mark({ point, width }: Pick<PartProps, 'point' | 'width'>) {
  if (point.type !== 'compaction') return null;
  const middle = width / 2;
  const applied = point.status === 'applied';
  return applied ? (
    <path class="timeline-mark" d={`M${middle - 4} 10 h8 l-4 -7 z`} />
  ) : (
    <path class="timeline-mark-void" d={`M${middle - 3} 4 l6 6 m0 -6 l-6 6`} />
  );
}

function beforeOf(point: TimelinePoint): number {
  return point.type === 'compaction' ? point.tokensBefore : 0;
}

function describe(point: TimelinePoint): string {
  if (point.type === 'step') return `${exactCount(point.context.total)} tokens`;
  const { tokensBefore, context, status } = point;
  return `Compaction ${status}: ${exactCount(tokensBefore)} → ${exactCount(context.total)} tokens`;
}

function inWords(points: readonly TimelinePoint[]): string {
  const last = points.at(-1);
  const compactions = points.filter((point) => point.type === 'compaction').length;
  return `${points.length - compactions} steps, ${compactions} compactions, now ${exactCount(last?.context.total ?? 0)} tokens`;
}
