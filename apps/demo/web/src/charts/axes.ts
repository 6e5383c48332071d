import type uPlot from 'uplot';
import { shortCount } from '../lib/format.js';
import type { ColorOf } from './chart-box.js';

const FONT = '12px system-ui, sans-serif';

/** Steps to the right, tokens upwards: the same in every chart. */
export function axes(colorOf: ColorOf): uPlot.Axis[] {
  const shared = { stroke: colorOf('--text-secondary'), font: FONT, ticks: { show: false } };
  return [
    {
      ...shared,
      size: 28,
      grid: { show: false },
      values: (_, splits) => splits.map((at) => (at % 1 === 0 ? String(at) : '')),
    },
    {
      ...shared,
      size: 52,
      grid: { stroke: colorOf('--border'), width: 1 },
      values: (_, splits) => splits.map((tokens) => shortCount(tokens)),
    },
  ];
}

/** A horizontal line, such as the window or a trigger. */
export function drawLine(plot: uPlot, tokens: number, color: string): void {
  const [low = 0, high = 0] = [plot.scales.y?.min ?? 0, plot.scales.y?.max ?? 0];
  if (tokens < low || tokens > high) return;
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(tokens, 'y', true));
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
