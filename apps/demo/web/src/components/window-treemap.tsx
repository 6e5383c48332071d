import { useSignal } from '@preact/signals';
import { hierarchy, treemap } from 'd3-hierarchy';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { firstLine, type RequestView } from '../../../src/page.js';
import { exactCount, share } from '../lib/format.js';
import { type FilledKey, nameOf, sources } from '../lib/sources.js';
import { showMessage } from '../state/show-message.js';
import { hoveredSource } from './gauge.js';

interface Cell {
  readonly key: string;
  readonly source: FilledKey;
  readonly label: string;
  readonly tokens: number;
  /** Absent for the parts of a request that are not messages. */
  readonly messageId?: string;
}

interface Node {
  readonly cell?: Cell;
  readonly children?: readonly Node[];
}

const HEIGHT = 280;
const AROUND = ['system', 'tools', 'reminders'] as const;

/** A request as areas: by source, then by message. */
export function WindowTreemap({ view }: { readonly view: RequestView }) {
  // Long because areas, keys and the line below share what is pointed at.
  const pointed = useSignal<Cell | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const width = useSignal(600);
  useLayoutEffect(() => {
    const place = box.current;
    if (!place) return;
    const measure = () => {
      width.value = Math.max(place.clientWidth, 80);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(place);
    measure();
    return () => {
      observer.disconnect();
      hoveredSource.value = undefined;
    };
  }, [width]);
  const cells = cellsOf(view);
  const total = cells.reduce((sum, { tokens }) => sum + tokens, 0);
  const point = (cell: Cell | undefined) => {
    pointed.value = cell;
    hoveredSource.value = cell?.source;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...(box.current?.querySelectorAll<HTMLElement>('.treemap-cell') ?? [])];
    all[all.indexOf(document.activeElement as HTMLElement) + step]?.focus();
  };
  const shown = pointed.value;
  return (
    <>
      <div
        class="treemap"
        ref={box}
        role="toolbar"
        aria-label="What the model sees, by source and message"
        onKeyDown={onKeyDown}
        onPointerLeave={() => point(undefined)}
      >
        {layout(cells, width.value).map(({ cell, x0, y0, x1, y1 }, index) => (
          <button
            key={cell.key}
            type="button"
            class={`treemap-cell label source-${cell.source}`}
            style={{ left: `${x0}px`, top: `${y0}px`, width: `${x1 - x0}px`, height: `${y1 - y0}px` }}
            tabIndex={index === 0 ? 0 : -1}
            aria-label={`${nameOf(cell.source)}: ${cell.label}, ${exactCount(cell.tokens)} tokens`}
            aria-disabled={cell.messageId === undefined}
            onPointerEnter={() => point(cell)}
            onFocus={() => point(cell)}
            onBlur={() => point(undefined)}
            onClick={() => cell.messageId && showMessage(cell.messageId)}
          >
            {x1 - x0 > 64 && y1 - y0 > 24 && <span class="clip">{cell.label}</span>}
          </button>
        ))}
      </div>
      <p class="chart-readout quiet small">
        {shown ? (
          <>
            <strong>
              {exactCount(shown.tokens)} tokens, {share(shown.tokens, total)}
            </strong>{' '}
            {shown.label}
          </>
        ) : (
          'Point at an area, or use the arrow keys. A click goes to the message.'
        )}
      </p>
    </>
  );
}

function cellsOf(view: RequestView): readonly Cell[] {
  const around = AROUND.map((source) => ({
    key: source,
    source,
    label: nameOf(source),
    tokens: view[source],
  }));
  const said = view.messages.map(({ id, source, text, tokens }) => ({
    key: id,
    source,
    label: firstLine(text, 120),
    tokens,
    messageId: id,
  }));
  return [...around, ...said].filter(({ tokens }) => tokens > 0);
}

function layout(cells: readonly Cell[], width: number) {
  const groups = sources.map(
    ({ key }): Node => ({
      children: cells.filter(({ source }) => source === key).map((cell) => ({ cell })),
    }),
  );
  const root = hierarchy<Node>({ children: groups.filter(({ children }) => children?.length) })
    .sum(({ cell }) => cell?.tokens ?? 0)
    .sort((left, right) => (right.value ?? 0) - (left.value ?? 0));
  const placed = treemap<Node>().size([width, HEIGHT]).paddingInner(2).round(true)(root);
  return placed
    .leaves()
    .flatMap(({ data: { cell }, x0, y0, x1, y1 }) => (cell ? [{ cell, x0, y0, x1, y1 }] : []));
}
