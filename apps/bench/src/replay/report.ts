import type { ReplaySetting } from '@x/replay/internal';
import { relativePrices, textTable } from '@x/replay/internal';
import { type Figures, figuresOf } from './figures.js';
import { OVERHEAD, type ReplayedConversation, TRIGGER_SHARE } from './run-replay.js';

interface Measure {
  readonly title: string;
  /** Returns the share; `undefined` if there is none. */
  of(figures: Figures): number | undefined;
}

const measures: readonly Measure[] = [
  {
    title: 'Probes retained, of all',
    of: ({ retained, probes }) => (probes > 0 ? retained / probes : undefined),
  },
  {
    title: 'Probes retained, of those that a reduction crossed',
    of: ({ crossingRetained, crossing }) => (crossing > 0 ? crossingRetained / crossing : undefined),
  },
  { title: 'Cost, of sending everything', of: ({ cost }) => (Number.isFinite(cost) ? cost : undefined) },
];

/** Returns the whole report as text. */
export function reportReplay(
  conversations: readonly ReplayedConversation[],
  strategies: readonly string[],
  setting: ReplaySetting,
): string {
  const sections = [
    headerOf(conversations, setting),
    ...measures.map((measure) => tableOf(measure, conversations, strategies)),
    totalsOf(conversations, strategies),
  ];
  return sections.map((lines) => lines.join('\n')).join('\n\n');
}

function headerOf(
  conversations: readonly ReplayedConversation[],
  { window, trigger, counter }: ReplaySetting,
): readonly string[] {
  const reaching = conversations.filter(({ reachesTrigger }) => reachesTrigger).length;
  return [
    `${conversations.length} conversations, a window of ${window} tokens (${counter.name}); ${reaching} reach the trigger.`,
    `Trigger: a request of ${trigger} tokens (${TRIGGER_SHARE} of the window), ${OVERHEAD} of them system prompt and tools.`,
    'Probes: names that a tool call takes from at least 2 000 tokens before.',
    'Retained: it stands as a whole word in the request whose answer uses it. Crossed: there was a reduction between its',
    'last mention and that request.',
    `Cost: input tokens of all requests; ${relativePrices.cachedInput} for whole messages shared with the request before from the start, ${relativePrices.cacheWrite} for`,
    'all others, 1 for what summarizers read; a sum over the sum without any reduction, as if the window did not matter.',
    'Rows: conversations that reach the trigger, unless said otherwise.',
  ];
}

function tableOf(
  { title, of }: Measure,
  conversations: readonly ReplayedConversation[],
  strategies: readonly string[],
): readonly string[] {
  const reaching = conversations.filter(({ reachesTrigger }) => reachesTrigger);
  const row = (label: string, group: readonly ReplayedConversation[]): readonly string[] => [
    label,
    String(group.length),
    String(group.flatMap(({ recording }) => recording.probes).length),
    ...strategies.map((name) => formatShare(of(figuresOf(group, name)))),
  ];
  const domains = [...new Set(reaching.map(({ recording }) => recording.domain))].map((domain) => ({
    domain,
    group: reaching.filter(({ recording }) => recording.domain === domain),
  }));
  const rows = domains.map(({ domain, group }) => row(domain, group));
  const means = strategies.map((name) => {
    const shares = domains.flatMap(({ group }) => of(figuresOf(group, name)) ?? []);
    return formatShare(
      shares.length > 0 ? shares.reduce((sum, share) => sum + share, 0) / shares.length : undefined,
    );
  });
  return textTable([
    [title, 'conv', 'probes', ...strategies],
    ...rows,
    ['mean of domains', '', '', ...means],
    row('pooled', reaching),
    row('pooled, with those below the trigger', conversations),
  ]);
}

function totalsOf(
  conversations: readonly ReplayedConversation[],
  strategies: readonly string[],
): readonly string[] {
  const figures = strategies.map((name) => figuresOf(conversations, name));
  const row = (label: string, of: (figures: Figures) => string | number) => [
    label,
    ...figures.map((each) => String(of(each))),
  ];
  return textTable([
    ['Over all conversations', ...strategies],
    row('model calls', ({ calls }) => calls),
    row('reductions', ({ reductions }) => reductions),
    row('largest request', ({ largestRequest }) => largestRequest),
    row('requests over the window', ({ overflows }) => overflows),
    row('calls or results without their counterpart', ({ pairingViolations }) => pairingViolations),
    row('changes not in the manifest', ({ unaccounted }) => unaccounted),
    row('largest summary', ({ largestSummary }) => largestSummary),
    row('read by a summarizer', ({ summarizerTokens }) => summarizerTokens),
    row('ms in the strategy, per call', ({ milliseconds, calls }) => (milliseconds / calls).toFixed(2)),
  ]);
}

function formatShare(share: number | undefined): string {
  return share === undefined ? '–' : share.toFixed(3);
}
