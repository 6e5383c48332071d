import { useSignal } from '@preact/signals';
import { exactCount, plural, shortCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { info, places } from '../state/session.js';
import type { Place } from '../state/transcript.js';
import { isDim } from './gauge.js';

/** Room under the areas for the marks of compactions. */
const FOOT = 12;
/** The widest column of a request. */
const WIDEST = 16;

interface WindowChartProps {
  readonly width: number;
  readonly height: number;
  /** The place that is looked at, from 1; the latest when left out. */
  readonly place?: number | undefined;
  onPick(place: number): void;
}

/** The window request by request, stacked by source. A compaction is a mark, and an outline of the window before it. */
export function WindowChart({ width, height, place, onPick }: WindowChartProps) {
  // Long because everything in it is drawn to one scale.
  const points = places.value;
  /** The place under the pointer, else the one that keys chose. */
  const pointed = useSignal<number | undefined>(undefined);
  const trigger = info.value?.triggerTokens ?? 0;
  const peak = Math.max(1, ...points.map(({ context }) => context.total));
  const most = Math.max(peak, ...points.map(({ compaction }) => compaction?.tokensBefore ?? 0));
  // The trigger is shown unless it is so far off that nothing else would be seen.
  const showsTrigger = trigger > 0 && most > trigger / 4;
  const top = showsTrigger ? Math.max(most, trigger) * 1.06 : most * 1.15;
  const pitch = Math.min(WIDEST, width / Math.max(points.length, 1));
  const floor = height - FOOT;
  const y = (tokens: number) => floor - (tokens / top) * floor;
  const last = Math.max(0, points.length - 1);
  const at = Math.min(last, pointed.value ?? (place ?? points.length) - 1);
  const shown = points[at];
  const isChosen = shown !== undefined && (pointed.value !== undefined || place !== undefined);
  const clamped = (index: number) => Math.min(last, Math.max(0, index));
  const under = ({ currentTarget, clientX }: MouseEvent) => {
    const { left, width: wide } = (currentTarget as Element).getBoundingClientRect();
    return clamped(Math.floor(((clientX - left) / wide) * (width / pitch)));
  };
  const point = (index: number | undefined) => {
    pointed.value = index;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moves = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      PageUp: at - 10,
      PageDown: at + 10,
      Home: 0,
      End: last,
    };
    const next = moves[event.key as keyof typeof moves];
    if (next === undefined) return;
    event.preventDefault();
    point(clamped(next));
    onPick(clamped(next) + 1);
  };
  return (
    <figure class="timeline">
      {/* A slider: pointer and arrow keys go to a request. */}
      <div
        class="track"
        role="slider"
        tabIndex={0}
        aria-label="Tokens in the window, request by request"
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={at + 1}
        aria-valuetext={shown ? pointInWords(shown) : 'No request yet'}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => point(under(event))}
        onPointerLeave={() => point(undefined)}
        onBlur={() => point(undefined)}
        onClick={(event) => onPick(under(event) + 1)}
      >
        <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          <line class="timeline-axis" x2={width} y1={floor + 0.5} y2={floor + 0.5} />
          {sources.map(({ key }, index) => (
            <path
              key={key}
              class={`timeline-part source-${key}`}
              data-dim={isDim(key)}
              d={area(points, index, pitch, y)}
            />
          ))}
          {points.map(({ compaction }, index) =>
            compaction ? (
              <g key={index} transform={`translate(${index * pitch} 0)`}>
                <path class="timeline-before" d={`M0.5 ${floor} V${y(compaction.tokensBefore)} h${pitch}`} />
                {compaction.status === 'applied' ? (
                  <path class="timeline-mark" d={`M${pitch / 2 - 4} ${height - 2} h8 l-4 -7 z`} />
                ) : (
                  <path class="timeline-mark-void" d={`M${pitch / 2 - 3} ${height - 8} l6 6 m0 -6 l-6 6`} />
                )}
              </g>
            ) : null,
          )}
          {showsTrigger && <line class="timeline-trigger" x2={width} y1={y(trigger)} y2={y(trigger)} />}
          {isChosen && <rect class="timeline-hit" x={at * pitch} width={Math.max(1, pitch)} height={floor} />}
        </svg>
      </div>
      <figcaption class="quiet label">
        {isChosen
          ? pointInWords(shown)
          : `${plural(points.at(-1)?.request ?? 0, 'request')} · peak ${shortCount(peak)}${showsTrigger ? ' · dashed: compacts there' : ''}`}
      </figcaption>
    </figure>
  );
}

/** The outline of a source's area, one path for all requests: its upper edge forwards, its lower edge back. */
function area(
  points: readonly Place[],
  source: number,
  pitch: number,
  y: (tokens: number) => number,
): string {
  const upTo = (count: number) =>
    points.map(({ context }) => sources.slice(0, count).reduce((sum, { key }) => sum + context[key], 0));
  const below = upTo(source);
  const upper = upTo(source + 1).map((tokens, at) => `L${at * pitch} ${y(tokens)} h${pitch}`);
  const lower = below.map((tokens, at) => `L${(at + 1) * pitch} ${y(tokens)} h${-pitch}`).reverse();
  return `M0 ${y(below[0] ?? 0)} ${upper.join('')}${lower.join('')}Z`;
}

function pointInWords({ context, compaction, request }: Place): string {
  const { total } = context;
  if (compaction)
    return `Compaction ${compaction.status}: ${exactCount(compaction.tokensBefore)} → ${exactCount(total)} tokens`;
  const filled = sources.filter(({ key }) => context[key] > 0);
  const parts = filled.map(({ key, name }) => `${name} ${exactCount(context[key])}`);
  return [`Request ${request}: ${exactCount(total)} tokens`, ...parts].join(', ');
}
