import type { ComponentChildren } from 'preact';

interface TrackProps {
  /** What the chart shows, in words. */
  readonly label: string;
  /** What stands at `at`, in words. */
  readonly valueText: string;
  readonly width: number;
  readonly height: number;
  readonly count: number;
  /** Distance of two steps, in units of `width`. */
  readonly pitch: number;
  /** The step that is looked at, from 0. */
  readonly at: number;
  /** The step under the pointer; `undefined` when it has left. */
  onPoint(at: number | undefined): void;
  /** A step that was clicked, or that the arrow keys have gone to. */
  onPick(at: number): void;
  readonly children: ComponentChildren;
}

/** A drawing over steps as a slider: pointer and arrow keys go to a step. */
export function Track(props: TrackProps) {
  const { label, valueText, width, height, count, pitch, at, onPoint, onPick, children } = props;
  const last = Math.max(0, count - 1);
  const stepAt = ({ currentTarget, clientX }: MouseEvent) => {
    const { left, width: wide } = (currentTarget as Element).getBoundingClientRect();
    return Math.min(last, Math.max(0, Math.floor(((clientX - left) / wide) * (width / pitch))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onPick(Math.min(last, Math.max(0, next)));
  };
  return (
    <div
      class="track"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={1}
      aria-valuemax={last + 1}
      aria-valuenow={at + 1}
      aria-valuetext={valueText}
      onKeyDown={onKeyDown}
      onPointerMove={(event) => onPoint(stepAt(event))}
      onPointerLeave={() => onPoint(undefined)}
      onClick={(event) => onPick(stepAt(event))}
    >
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {children}
      </svg>
    </div>
  );
}
