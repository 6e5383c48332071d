import type { Wish } from '../view.js';
import type { AreaStats, Figures } from './facts.js';

export const REPORT = 'REPORT.md';

/** Stands where a section will be. Replaced once: a second attempt finds nothing, so a section is never there twice. */
function placeholder(section: string): string {
  return `<!-- survey: ${section} -->`;
}

export function skeleton(name: string, about: string, areas: readonly string[]): Wish {
  const sections = ['overview', ...areas, 'conclusions'].map(placeholder);
  const intro = about === '' ? '' : `${about}\n\n`;
  return {
    name: 'write_file',
    input: { path: REPORT, content: `# Survey of ${name}\n\n${intro}${sections.join('\n\n')}\n` },
  };
}

export function fill(section: string, text: string): Wish {
  return { name: 'edit_file', input: { path: REPORT, oldText: placeholder(section), newText: text } };
}

export function overview(details: {
  readonly totals: { readonly files: number; readonly lines: number };
  readonly kinds: readonly { readonly extension: string; readonly files: number }[];
  readonly history: readonly string[];
}): string {
  const kinds = details.kinds.map(({ extension, files }) => `${extension} ${files}`).join(', ');
  const latest = details.history[0] ? `\n\nLatest commit: ${details.history[0]}` : '';
  return `## Overview\n\nThe repository has ${details.totals.files} files with ${details.totals.lines} lines.\n\nFiles by extension: ${kinds}.${latest}`;
}

export function areaSection(details: {
  readonly area: string;
  readonly about: string;
  readonly stats: AreaStats;
  readonly entries: readonly string[];
  readonly exports: number;
  readonly open: number;
}): string {
  const { area, about, stats, entries, exports, open } = details;
  return [
    `## ${area}`,
    ...(about === '' ? [] : [about]),
    `Figures for ${area}: ${stats.files} files, ${stats.lines} lines, ${stats.tests} test files, ${exports} exports, ${open} open TODOs.`,
    `Largest file: ${stats.largest} (${stats.largestLines} lines). Top entries: ${entries.slice(0, 12).join(', ')}.`,
  ].join('\n\n');
}

export function conclusions(sections: readonly Figures[]): string {
  const byLines = [...sections].sort((left, right) => right.lines - left.lines);
  const rows = byLines.map(({ area, files, lines }) => `| ${area} | ${files} | ${lines} |`);
  const [largest] = byLines;
  const remark = largest ? `The largest area is ${largest.area} with ${largest.lines} lines.\n\n` : '';
  return `## Conclusions\n\n${remark}| area | files | lines |\n| --- | ---: | ---: |\n${rows.join('\n')}`;
}
