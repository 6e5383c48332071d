import { useSignal } from '@preact/signals';
import { hierarchy, treemap, treemapSquarify } from 'd3-hierarchy';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { RequestView } from '../../../src/server/backend.js';
import { firstLine } from '../../../src/server/message-text.js';
import { exactCount, share } from '../lib/format.js';
import { type FilledKey, nameOf, sources } from '../lib/sources.js';
import { showMessage } from '../state/show-message.js';
import { hoveredSource } from '../state/view.js';

interface Cell {
  readonly key: string;
  readonly source: FilledKey;
  readonly label: string;
  readonly tokens: number;
  /** None for what is no message. */
  readonly messageId?: string;
}

interface Node {
  readonly cell?: Cell;
  readonly children?: readonly Node[];
}

const HEIGHT = 280;

/** A request as areas: by source, then by message. */
export function WindowTreemap({ view }: { readonly view: RequestView | undefined }) {
  const pointed = useSignal<Cell | undefined>(undefined);
  const cells = view ? cellsOf(view) : [];
  const total = cells.reduce((sum, { tokens }) => sum + tokens, 0);
  const cell = pointed.value;
  return (
    <>
      <Areas
        cells={cells}
        onPoint={(at) => {
          pointed.value = at;
          hoveredSource.value = at?.source;
        }}
      />
      <p class="chart-readout quiet small">
        {cell ? (
          <>
            <strong>
              {exactCount(cell.tokens)} tokens, {share(cell.tokens, total)}
            </strong>{' '}
            {cell.label}
          </>
        ) : (
          'Point at an area, or go through them with the arrow keys; a click leads to the message.'
        )}
      </p>
    </>
  );
}

function Areas({
  cells,
  onPoint,
}: {
  readonly cells: readonly Cell[];
  readonly onPoint: (cell: Cell | undefined) => void;
}) {
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
    return () => observer.disconnect();
  }, [width]);
  const leaves = layout(cells, width.value);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...(box.current?.querySelectorAll<HTMLElement>('.treemap-cell') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[Math.min(all.length - 1, Math.max(0, at + step))]?.focus();
  };
  return (
    <div
      class="treemap"
      ref={box}
      role="toolbar"
      aria-label="What the model sees now, by source and message"
      onKeyDown={onKeyDown}
      onPointerLeave={() => onPoint(undefined)}
    >
      {leaves.map(({ cell, left, top, width: wide, height }, index) => (
        <button
          key={cell.key}
          type="button"
          class={`treemap-cell label source-${cell.source}`}
          style={{ left: `${left}px`, top: `${top}px`, width: `${wide}px`, height: `${height}px` }}
          tabIndex={index === 0 ? 0 : -1}
          aria-label={`${nameOf(cell.source)}: ${cell.label}, ${exactCount(cell.tokens)} tokens`}
          aria-disabled={cell.messageId === undefined}
          onPointerEnter={() => onPoint(cell)}
          onFocus={() => onPoint(cell)}
          onBlur={() => onPoint(undefined)}
          onClick={() => cell.messageId && showMessage(cell.messageId)}
        >
          {wide > 64 && height > 24 && <span class="clip">{cell.label}</span>}
        </button>
      ))}
    </div>
  );
}

function cellsOf({ messages, ...frame }: RequestView): readonly Cell[] {
  const around = (['system', 'tools', 'reminders'] as const).map((source) => ({
    key: source,
    source,
    label: nameOf(source),
    tokens: frame[source],
  }));
  const said = messages.map(({ id, source, text, tokens }) => ({
    key: id,
    source,
    label: firstLine(text, 120),
    tokens,
    messageId: id,
  }));
  return [...around, ...said].filter(({ tokens }) => tokens > 0);
}

function layout(cells: readonly Cell[], width: number) {
  const groups = sources.map(({ key }) => ({
    children: cells.filter((cell) => cell.source === key).map(leaf),
  }));
  const root = hierarchy<Node>({ children: groups.filter(({ children }) => children.length > 0) })
    .sum(({ cell }) => cell?.tokens ?? 0)
    .sort((left, right) => (right.value ?? 0) - (left.value ?? 0));
  const placed = treemap<Node>().tile(treemapSquarify).size([width, HEIGHT]).paddingInner(2).round(true)(
    root,
  );
  return placed
    .leaves()
    .flatMap(({ data, x0, y0, x1, y1 }) =>
      data.cell ? [{ cell: data.cell, left: x0, top: y0, width: x1 - x0, height: y1 - y0 }] : [],
    );
}

function leaf(cell: Cell): Node {
  return { cell };
}
