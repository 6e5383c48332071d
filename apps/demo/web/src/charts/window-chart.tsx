import { useSignal } from '@preact/signals';
import type { TimelinePoint } from '../../../src/server/transcript.js';
import { exactCount, plural, shortCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { info } from '../state/info.js';
import { timeline } from '../state/session.js';
import { hoveredSource } from '../state/view.js';

/** Room under the areas for the marks of compactions. */
const FOOT = 12;
const WIDEST = 16;

interface WindowChartProps {
  readonly width: number;
  readonly height: number;
  /** The request that is looked at, from 1; the latest when left out. */
  readonly step?: number | undefined;
  onPick(step: number): void;
}

/**
 * The window request by request, stacked by source like the gauge; a compaction shows what was there before it as an outline.
 * An area is one path whatever the number of requests, so that all of them can be shown.
 */
export function WindowChart({ width, height, step, onPick }: WindowChartProps) {
  const points = timeline.value;
  const pointed = useSignal<number | undefined>(undefined);
  const trigger = info.value?.triggerTokens ?? 0;
  const peak = Math.max(1, ...points.map(({ context }) => context.total));
  const before = Math.max(0, ...points.map(({ compaction }) => compaction?.tokensBefore ?? 0));
  const most = Math.max(peak, before);
  // The trigger belongs into the picture unless it is so far off that nothing else would be seen.
  const top = trigger > 0 && most > trigger / 4 ? Math.max(most, trigger) * 1.06 : most * 1.15;
  const showsTrigger = trigger > 0 && trigger <= top;
  const pitch = Math.min(WIDEST, width / Math.max(points.length, 1));
  const floor = height - FOOT;
  const y = (tokens: number) => floor - (tokens / top) * floor;
  const looked = step === undefined ? -1 : points.findIndex((point) => point.step === step);
  const at = looked < 0 ? points.length - 1 : looked;
  const shown = points[pointed.value ?? at];
  const last = Math.max(0, points.length - 1);
  const pick = (index: number) => onPick(Math.max(1, points[Math.min(last, Math.max(0, index))]?.step ?? 1));
  const under = ({ currentTarget, clientX }: MouseEvent) => {
    const { left, width: wide } = (currentTarget as Element).getBoundingClientRect();
    return Math.min(last, Math.max(0, Math.floor(((clientX - left) / wide) * (width / pitch))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    pick(next);
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
        aria-valuetext={points[at] ? pointInWords(points[at]) : 'No request yet'}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => {
          pointed.value = under(event);
        }}
        onPointerLeave={() => {
          pointed.value = undefined;
        }}
        onClick={(event) => pick(under(event))}
      >
        <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          <line class="timeline-axis" x2={width} y1={floor + 0.5} y2={floor + 0.5} />
          {sources.map(({ key }, index) => (
            <path
              key={key}
              class={`timeline-part source-${key}`}
              data-dim={hoveredSource.value !== undefined && hoveredSource.value !== key}
              d={area(points, index, pitch, y)}
            />
          ))}
          {points.map(({ compaction, at: time }, index) =>
            compaction ? (
              <g key={time} transform={`translate(${index * pitch} 0)`}>
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
          {(looked >= 0 || pointed.value !== undefined) && (
            <rect
              class="timeline-hit"
              x={(pointed.value ?? at) * pitch}
              width={Math.max(1, pitch)}
              height={floor}
            />
          )}
        </svg>
      </div>
      <figcaption class="quiet label">
        {shown && (pointed.value !== undefined || looked >= 0)
          ? pointInWords(shown)
          : `${plural(points.at(-1)?.step ?? 0, 'request')} · peak ${shortCount(peak)}${showsTrigger ? ' · dashed: where it compacts' : ''}`}
      </figcaption>
    </figure>
  );
}

/** The outline of a source's area: its upper edge forwards, the edge of what lies below it back. */
function area(
  points: readonly TimelinePoint[],
  source: number,
  pitch: number,
  y: (tokens: number) => number,
): string {
  const below = points.map(({ context }) =>
    sources.slice(0, source).reduce((sum, { key }) => sum + context[key], 0),
  );
  const key = sources[source]?.key ?? 'system';
  const upper = points.map(
    ({ context }, at) => `L${at * pitch} ${y((below[at] ?? 0) + context[key])} h${pitch}`,
  );
  const lower = below.map((tokens, at) => `L${(at + 1) * pitch} ${y(tokens)} h${-pitch}`).reverse();
  return `M0 ${y(below[0] ?? 0)} ${upper.join('')}${lower.join('')}Z`;
}

function pointInWords({ context, compaction, step }: TimelinePoint): string {
  if (compaction) {
    const { status, tokensBefore } = compaction;
    return `Compaction ${status}: ${exactCount(tokensBefore)} → ${exactCount(context.total)} tokens`;
  }
  const parts = sources
    .filter(({ key }) => context[key] > 0)
    .map(({ key, name }) => `${name} ${exactCount(context[key])}`);
  return [`Request ${step}: ${exactCount(context.total)} tokens`, ...parts].join(', ');
}
