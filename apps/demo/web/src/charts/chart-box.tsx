import 'uplot/dist/uPlot.min.css';
import './chart-box.css';
import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { theme } from '../state/theme.js';

interface ChartBoxProps {
  /** What the chart shows, in words. */
  readonly label: string;
  /** What stands under the pointer, in words. */
  readonly valueText: string;
  readonly height: number;
  readonly data: uPlot.AlignedData;
  /** Made anew when the data, the width or the theme changes; colors come from `colorOf`. */
  readonly options: (colorOf: ColorOf) => Omit<uPlot.Options, 'width' | 'height'>;
  /** The index of the point under the pointer, or that the arrow keys have gone to. */
  readonly onPoint: (index: number | undefined) => void;
}

/** The color of a class or a CSS variable, as a canvas takes it. */
export type ColorOf = (name: `.${string}` | `--${string}`) => string;

/** A chart on a canvas that follows its width, the theme and the arrow keys. */
export function ChartBox({ label, valueText, height, data, options, onPoint }: ChartBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>();
  const last = (data[0]?.length ?? 1) - 1;
  const themeNow = theme.value;

  useLayoutEffect(() => {
    const place = box.current;
    if (!place) return;
    const draw = () => {
      chart.current?.destroy();
      const made = options((name) => resolvedColor(place, name));
      const hooks = { ...made.hooks, setCursor: [(plot: uPlot) => onPoint(plot.cursor.idx ?? undefined)] };
      chart.current = new uPlot(
        { ...made, hooks, width: Math.max(place.clientWidth, 80), height },
        data,
        place,
      );
    };
    draw();
    const resized = new ResizeObserver(() =>
      chart.current?.setSize({ width: Math.max(place.clientWidth, 80), height }),
    );
    resized.observe(place);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', draw);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [data, themeNow]);

  const go = (index: number) => {
    const plot = chart.current;
    const x = plot?.data[0]?.[index];
    if (!plot || x === undefined) return;
    plot.setCursor({ left: plot.valToPos(x, 'x'), top: plot.over.clientHeight / 2 });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = chart.current?.cursor.idx ?? last;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    go(Math.min(last, Math.max(0, next)));
  };
  return (
    <div
      class="chart-box"
      ref={box}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={chart.current?.cursor.idx ?? last}
      aria-valuetext={valueText}
      onKeyDown={onKeyDown}
    />
  );
}

function resolvedColor(place: HTMLElement, name: string): string {
  const probe = document.createElement('i');
  if (name.startsWith('.')) probe.className = name.slice(1);
  else probe.style.color = `var(${name})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
