import type { Comparison } from '../compare-strategies.js';
import { type Figures, figuresOf } from './figures.js';
import { formatCost, formatNumber, formatShare } from './format.js';
import { type Html, html } from './html.js';
import { lineChart } from './line-chart.js';
import { replayReport } from './replay-json.js';
import { styleSheet } from './style-sheet.js';

export interface HtmlOptions {
  readonly title?: string;
  /** The currency of the prices; without one, costs are in millions of uncached tokens. */
  readonly currency?: string;
}

/** Names that a table shows of what a strategy lost. */
const MAX_LOST = 40;

/** Comparisons as one page that needs nothing else: no script, no network, light and dark. */
export function replayHtml(comparisons: readonly Comparison[], options: HtmlOptions = {}): string {
  const { title = 'Replay of recorded conversations', currency } = options;
  const total = figuresOf(comparisons);
  const first = comparisons[0];
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${styleSheet}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${comparisons.length} ${comparisons.length === 1 ? 'conversation' : 'conversations'}, a window of ${formatNumber(first?.setting.window ?? 0)} tokens, counted by ${first?.setting.counter.name ?? ''}. Kept: of the names that a later tool call took from at least 2 000 tokens back, the share that still stood in the request whose answer used them. Cost: input and output of all requests, with the provider's prompt cache for whatever a request shares with the one before.</p>
${table(total, currency)}
${comparisons.map((comparison, index) => section(comparison, index, currency))}
</main>
</body>
</html>
`;
  return page.markup;
}

function section(comparison: Comparison, index: number, currency: string | undefined): Html {
  const { conversation, setting, strategies, everything } = comparison;
  const series = [
    { name: 'everything', result: everything },
    ...Object.entries(strategies).map(([name, result]) => ({ name, result })),
  ];
  const report = replayReport([comparison]).conversations[0];
  const unread = Object.entries(conversation.unread);
  return html`<section>
<h2>${conversation.id ?? `Conversation ${index + 1}`}</h2>
<p class="facts">${conversation.format}${conversation.model === undefined ? '' : ` · ${conversation.model}`} · ${conversation.messages.length} messages · ${everything.calls.length} model calls · ${formatNumber(setting.overhead)} tokens of system prompt and tools${conversation.compactions.length === 0 ? '' : ` · compacted ${conversation.compactions.length} times when it was recorded`}</p>
${unread.length === 0 ? undefined : html`<p class="facts">Not read: ${unread.map(([reason, count]) => `${count} × ${reason}`).join(', ')}.</p>`}
<figure>
<div class="scroll">${lineChart(
    series.map(({ name, result }) => ({
      name,
      values: result.calls.map(({ request }) => request),
      marks: result.calls.flatMap(({ reduced }, at) => (reduced ? [at] : [])),
    })),
    {
      title: 'Tokens of each request by strategy',
      x: 'model calls',
      y: 'tokens of the request',
      limit: { name: 'window', value: setting.window },
    },
  )}</div>
<figcaption>${series.map(({ name }, at) => html`<span class="key"><i class="series-${at}"></i>${name}</span>`)}<span class="key">dots: reductions</span></figcaption>
</figure>
${table(figuresOf([comparison]), currency)}
${report?.recorded === undefined ? undefined : html`<p class="facts">Billed in the recording: ${formatNumber(report.recorded.inputTokens + report.recorded.cachedInputTokens + report.recorded.cacheWriteTokens)} input tokens in ${report.recorded.calls} calls, ${formatShare(report.recorded.cachedInputTokens / Math.max(1, report.recorded.inputTokens + report.recorded.cachedInputTokens + report.recorded.cacheWriteTokens))} of them from the cache; ${formatNumber(report.recorded.outputTokens)} output tokens.</p>`}
${Object.entries(report?.lost ?? {}).map(([name, lost]) =>
  lost.length === 0
    ? html``
    : html`<details><summary>${lost.length} names that ${name} had lost when they were used</summary><p class="names">${lost.slice(0, MAX_LOST).map((token) => html`<code>${token}</code> `)}${lost.length > MAX_LOST ? `and ${lost.length - MAX_LOST} more` : ''}</p></details>`,
)}
</section>`;
}

function table(rows: readonly Figures[], currency: string | undefined): Html {
  return html`<div class="scroll"><table>
<thead><tr><th scope="col">Strategy</th><th scope="col">Kept</th><th scope="col">Cost</th><th scope="col">Of everything</th><th scope="col">From cache</th><th scope="col">Largest request</th><th scope="col">Over the window</th><th scope="col">Reductions</th></tr></thead>
<tbody>${rows.map((row) => html`<tr><th scope="row">${row.strategy}</th><td>${row.references === 0 ? '–' : `${formatShare(row.retained / row.references)} of ${row.references}`}</td><td>${formatCost(row.cost, currency)}</td><td>${row.costShare === undefined ? '–' : formatShare(row.costShare)}</td><td>${row.sent === 0 ? '–' : formatShare(row.cached / row.sent)}</td><td>${formatNumber(row.largestRequest)}</td><td>${row.overflows}</td><td>${row.reductions}</td></tr>`)}</tbody>
</table></div>`;
}
