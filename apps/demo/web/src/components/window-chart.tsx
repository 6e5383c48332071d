import { signal, useSignal } from '@preact/signals';
import { ChevronLeft, ChevronRight } from 'lucide-preact';
import { exactCount, shortCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { info, places } from '../state/session.js';
import type { Compaction, Place } from '../state/transcript.js';
import { lookedAt, shownPlace } from '../state/view.js';
import { Button, IconButton } from './parts.js';

const WIDTH = 328;
const HEIGHT = 96;
/** The baseline of the areas. The marks of compactions are below it. */
const FLOOR = HEIGHT - 12;
/** Maximum width of a request's column. */
const WIDEST = 16;

/** Whether the user's last input was larger than the number of the last request. */
const isBeyond = signal(false);

function look(place: number | undefined): void {
  lookedAt.value = place;
}

/** The window by request, stacked by source. A compaction is a mark, with an outline of the window before it. */
export function WindowChart() {
  // Long because everything in it is drawn to one scale.
  const points = places.value;
  const place = shownPlace.value && lookedAt.value;
  /** The place below the pointer. */
  const pointed = useSignal<number | undefined>(undefined);
  const trigger = info.value?.triggerTokens ?? 0;
  // Skip compactions and undos, because their result was not sent yet.
  const sent = points.filter(({ request }, index) => request !== points[index - 1]?.request);
  const peak = Math.max(1, ...sent.map(({ context }) => context.total));
  const sizes = points.flatMap(({ context, before = 0 }) => [context.total, before]);
  const most = Math.max(peak, ...sizes);
  const hasUndo = points.some(({ compaction, before }) => before !== undefined && !compaction);
  // The trigger is hidden if it is so high that the chart would be too flat.
  const showsTrigger = trigger > 0 && most > trigger / 4;
  const top = showsTrigger ? Math.max(most, trigger) * 1.06 : most * 1.15;
  const pitch = Math.min(WIDEST, WIDTH / Math.max(points.length, 1));
  const y = (tokens: number) => FLOOR - (tokens / top) * FLOOR;
  const last = Math.max(0, points.length - 1);
  const clamped = (index: number) => Math.min(last, Math.max(0, index));
  const at = clamped(pointed.value ?? (place ?? points.length) - 1);
  const shown = points[at];
  const isChosen = pointed.value !== undefined || place !== undefined;
  const under = ({ currentTarget, clientX }: MouseEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return clamped(Math.floor(((clientX - left) / width) * (WIDTH / pitch)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const from = clamped((place ?? points.length) - 1);
    const moves: Readonly<Record<string, number | undefined>> = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      PageUp: from - 10,
      PageDown: from + 10,
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    look(clamped(next) + 1);
  };
  return (
    <figure class="timeline stack">
      {/* A slider: pointer and arrow keys go to a request. */}
      <div
        class="track"
        role="slider"
        tabIndex={0}
        aria-label="Tokens in the window, request by request"
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={at + 1}
        aria-valuetext={shown ? pointInWords(at) : 'No request yet'}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => (pointed.value = under(event))}
        onPointerLeave={() => (pointed.value = undefined)}
        onClick={(event) => look(under(event) + 1)}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
          <line class="timeline-axis" x2={WIDTH} y1={FLOOR + 0.5} y2={FLOOR + 0.5} />
          {sources.map(({ key }, index) => (
            <path key={key} class={`timeline-part source-${key}`} d={area(points, index, pitch, y)} />
          ))}
          {points.map(({ compaction, before }, index) =>
            before !== undefined ? (
              <g key={index} transform={`translate(${index * pitch} 0)`}>
                <path class="timeline-before quiet" d={`M0.5 ${FLOOR} V${y(before)} h${pitch}`} />
                <path {...markOf(compaction)} transform={`translate(${pitch / 2} ${FLOOR + 6})`} />
              </g>
            ) : null,
          )}
          {showsTrigger && <line class="timeline-trigger" x2={WIDTH} y1={y(trigger)} y2={y(trigger)} />}
          {isChosen && <rect class="timeline-hit" x={at * pitch} width={Math.max(1, pitch)} height={FLOOR} />}
        </svg>
      </div>
      <figcaption class="quiet label">
        {isBeyond.value && place === points.length && `The last request is number ${shown?.request ?? 0}. `}
        {isChosen && shown
          ? pointInWords(at)
          : `Largest request ${shortCount(peak)}${most > peak ? ` · ▲ compaction${hasUndo ? ', ▼ undo' : ''}, outlined: before it` : ''}${showsTrigger ? ' · dashed: compacts there' : ''}`}
      </figcaption>
      <Steps />
    </figure>
  );
}

/** Returns the mark of a compaction, or of an undo. */
function markOf(compaction: Compaction | undefined) {
  if (compaction === undefined) return { class: 'timeline-undo warn', d: 'M-4 -3 h8 l-4 7 z' };
  if (compaction.status === 'applied') return { class: 'timeline-mark accent', d: 'M-4 4 h8 l-4 -7 z' };
  return { class: 'timeline-mark-void warn', d: 'M-3 -2 l6 6 m0 -6 l-6 6' };
}

/** Steps through places, or jumps to a request by its number. */
function Steps() {
  const last = places.value.length;
  const at = lookedAt.value;
  const requests = places.value.at(-1)?.request ?? 0;
  const goTo = (field: HTMLInputElement) => {
    const request = Number(field.value);
    isBeyond.value = request > requests;
    if (isBeyond.value) field.value = String(requests);
    const index = places.value.findIndex((place) => place.request === Math.min(request, requests));
    if (index >= 0 || field.value === '') look(index + 1 || undefined);
  };
  return (
    <div class="row small">
      <IconButton
        label="Previous"
        icon={ChevronLeft}
        disabled={at === 1}
        onClick={() => look(Math.max(1, (at ?? last + 1) - 1))}
      />
      <label class="row grow">
        Request
        <input
          class="field"
          type="number"
          min={1}
          max={requests}
          value={at === undefined ? '' : (places.value[at - 1]?.request ?? '')}
          placeholder={`1–${requests}`}
          onInput={({ currentTarget }) => goTo(currentTarget)}
        />
        <span class="fixed">of {exactCount(requests)}</span>
      </label>
      <IconButton
        label="Next"
        icon={ChevronRight}
        disabled={at === undefined}
        onClick={() => look(at === undefined || at >= last ? undefined : at + 1)}
      />
      <Button disabled={at === undefined} onClick={() => look(undefined)}>
        Latest
      </Button>
    </div>
  );
}

/** Returns the outline of a source's area for all requests: its upper edge forwards, its lower edge back. */
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

/** Returns the title of a place of the session. */
export function placeTitle(index: number): string {
  const { request, compaction } = places.value[index] ?? {};
  if (compaction) return `Compaction ${compaction.status} after request ${request}`;
  const isUndo = places.value[index - 1]?.request === request;
  return isUndo ? `Undo after request ${request}` : `Request ${request}`;
}

function pointInWords(index: number): string {
  const { context, before } = places.value[index] ?? {};
  const from = before === undefined ? '' : `${exactCount(before)} → `;
  return `${placeTitle(index)}: ${from}${exactCount(context?.total ?? 0)} tokens`;
}
