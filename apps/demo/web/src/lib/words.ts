import type { JsonValue, ManifestEntry, Message } from '@x/core';
import {
  BookOpen,
  Bot,
  Brain,
  FileText,
  FolderTree,
  Globe,
  ListTodo,
  type LucideIcon,
  Map as MapIcon,
  Pencil,
  Search,
  Terminal,
  Wrench,
} from 'lucide-preact';
import { firstLine } from '../../../src/page.js';
import type { Compaction } from '../state/transcript.js';
import { exactCount, plural, shortCount } from './format.js';

const heads: Readonly<Record<Compaction['status'], string>> = {
  applied: 'Context compacted',
  ineffective: 'Compaction had no effect',
  skipped: 'Compaction skipped',
  failed: 'Compaction failed',
  aborted: 'Compaction stopped',
};

/** What a compaction did: a heading, its messages and its tokens. */
export function compactionTitle(compaction: Compaction) {
  const { status, undone, messagesBefore, messagesAfter } = compaction;
  if (undone) return { head: 'Compaction undone' };
  if (status !== 'applied') return { head: heads[status], messages: 'nothing was changed' };
  const messages =
    messagesBefore === messagesAfter
      ? undefined
      : `${exactCount(messagesBefore)} → ${plural(messagesAfter, 'message')}`;
  return { head: heads.applied, messages, tokens: beforeAndAfter(compaction) };
}

export function beforeAndAfter({ tokensBefore, tokensAfter }: Compaction): string {
  return `${shortCount(tokensBefore)} → ${shortCount(tokensAfter)} tokens`;
}

export const reasons: Readonly<Record<Compaction['reason'], string>> = {
  proactive_budget: 'The window was nearly full',
  request_too_large: 'The provider refused the request as too large',
  manual: 'You asked for it',
};

/** What happened to messages: `12 summarized, 3 masked`. */
export function fatesInWords(manifest: readonly ManifestEntry[]): string {
  const counts = new Map<string, number>();
  for (const { fate } of manifest) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  const sorted = [...counts].sort(([, left], [, right]) => right - left);
  return sorted.map(([fate, count]) => `${exactCount(count)} ${fate}`).join(', ');
}

/** Unchanged lines around a change. */
const AROUND = 2;
/** Removed lines that are shown at most: the new lines stand below them. */
const MOST_GONE = 20;

/** What changed between two texts, each line behind its mark: `-`, `+` or a space. */
export function lineDiff(before: string, after: string): readonly string[] {
  const [old = [], now = []] = [before, after].map((text) =>
    text === '' ? [] : text.replace(/\n$/, '').split('\n'),
  );
  const shortest = Math.min(old.length, now.length);
  let head = 0;
  while (head < shortest && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const gone = old.slice(head, old.length - tail);
  const more = gone.length - MOST_GONE;
  const shown = more > 1 ? [...gone.slice(0, MOST_GONE), `… and ${more} lines more`] : gone;
  return [
    ...old.slice(Math.max(0, head - AROUND), head).map((line) => `  ${line}`),
    ...shown.map((line) => `- ${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+ ${line}`),
    ...old.slice(old.length - tail, old.length - tail + AROUND).map((line) => `  ${line}`),
  ];
}

const icons: readonly (readonly [RegExp, LucideIcon])[] = [
  [/^(list_files|glob)/, FolderTree],
  [/^(read_file|memory_get)/, FileText],
  [/(write|edit)_file/, Pencil],
  [/grep|search|query/, Search],
  [/execute|shell|bash/, Terminal],
  [/todo/, ListTodo],
  [/plan/, MapIcon],
  [/memory/, Brain],
  [/agent|task/, Bot],
  [/session/, BookOpen],
  [/fetch|http|web/, Globe],
];

/** The icon of a tool, by its name. */
export function toolIcon(name: string): LucideIcon {
  return icons.find(([pattern]) => pattern.test(name))?.[1] ?? Wrench;
}

/** The first argument of a call, in one line. */
export function firstArgument(input: JsonValue): string {
  const first = isRecord(input) ? Object.values(input)[0] : input;
  if (Array.isArray(first)) return plural(first.length, 'item');
  return firstLine(typeof first === 'string' ? first : (JSON.stringify(first) ?? ''));
}

export function isRecord(value: JsonValue): value is { readonly [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the model wrote in a message, without its calls. */
export function said({ content }: Message): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
