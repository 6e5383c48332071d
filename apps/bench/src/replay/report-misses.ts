import { textTable } from '@x/replay';
import type { Miss } from './misses.js';

const GAPS = [4_000, 8_000, 16_000, 32_000, 64_000];

/** What a strategy lost, counted by kind, and then one by one. */
export function reportMisses(strategy: string, misses: readonly Miss[]): string {
  const counts: readonly [string, (miss: Miss) => string][] = [
    ['domain', (miss) => miss.domain],
    ['form of the token', (miss) => miss.form],
    ['last mentioned in', (miss) => miss.place],
    ['that message was', (miss) => miss.fate],
    ['tokens since', ({ probe }) => gapOf(probe.gapTokens)],
    ['mentions before', ({ mentions }) => (mentions > 4 ? '5 or more' : String(mentions))],
    ['used by a call in', (miss) => miss.conversation],
  ];
  return [
    `${strategy}: ${misses.length} probes missed`,
    ...counts.map(([title, keyOf]) => countTable(title, misses, keyOf).join('\n')),
    textTable([
      ['token', 'form', 'place', 'fate', 'mentions', 'tokens since', 'last', 'call', 'conversation'],
      ...misses.map(({ probe, form, place, fate, mentions, conversation }) => [
        probe.token,
        form,
        place,
        fate,
        String(mentions),
        String(probe.gapTokens),
        String(probe.lastIndex),
        String(probe.callIndex),
        conversation,
      ]),
    ]).join('\n'),
  ].join('\n\n');
}

function countTable(
  title: string,
  misses: readonly Miss[],
  keyOf: (miss: Miss) => string,
): readonly string[] {
  const counts = new Map<string, number>();
  for (const miss of misses) counts.set(keyOf(miss), (counts.get(keyOf(miss)) ?? 0) + 1);
  const rows = [...counts].sort(([, left], [, right]) => right - left);
  return textTable([[title, 'missed'], ...rows.map(([key, count]) => [key, String(count)])]);
}

function gapOf(tokens: number): string {
  const index = GAPS.findIndex((gap) => tokens < gap);
  return index === -1 ? `${GAPS.at(-1)} or more` : `below ${GAPS[index]}`;
}
