import type { Comparison } from '../compare-strategies.js';
import { COLUMNS } from './columns.js';
import type { Figures } from './figures.js';
import { formatNumber, formatShare } from './format.js';
import { type Html, html } from './html.js';
import { lineChart } from './line-chart.js';
import { type RecordedBill, type ReplayReport, replayReport } from './replay-json.js';
import { styleSheet } from './style-sheet.js';

/** Options of {@link replayHtml}. */
export interface HtmlOptions {
  readonly title?: string;
  /** The currency of the prices. Without one, costs are in millions of uncached input tokens. */
  readonly currency?: string | undefined;
}

/** Maximum number of lost names that the page lists for a strategy. */
const MAX_LOST = 40;

/** Renders comparisons as one HTML page. It needs no script and no network, and has a light and a dark mode. */
export function replayHtml(comparisons: readonly Comparison[], options: HtmlOptions = {}): string {
  const { title = 'Replay of recorded conversations', currency } = options;
  const { counter, total, conversations } = replayReport(comparisons);
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
<p>${comparisons.length} ${comparisons.length === 1 ? 'conversation' : 'conversations'}, counted by ${counter}. Kept: a tool call used a name at least 2 000 tokens after its last mention. The column shows the share of these names that the request before the call still contained. Cost: input and output of all requests, with a prompt cache for the messages at the start that equal the previous request; of all: relative to sending everything. Largest: the largest request, in tokens. Over: requests above the window.</p>
${table(total, currency)}
${conversations.map((conversation, index) => section(comparisons[index] as Comparison, conversation, index, currency))}
</main>
</body>
</html>
`;
  return page.markup;
}

function section(
  { strategies, everything, conversation: { compactions } }: Comparison,
  { id, format, model, messages, window, systemTokens, unread, figures, recorded, lost }: Conversation,
  index: number,
  currency: string | undefined,
): Html {
  const series = Object.entries({ everything, ...strategies });
  const facts = [
    format,
    ...(model === undefined ? [] : [model]),
    `${messages} messages`,
    `${everything.calls.length} model calls`,
    `a window of ${formatNumber(window)} tokens`,
    `${formatNumber(systemTokens)} tokens of system prompt and tools`,
    ...(compactions.length === 0 ? [] : [`compacted ${compactions.length} times when it was recorded`]),
  ];
  const unreadParts = Object.entries(unread).map(([reason, count]) => `${count} × ${reason}`);
  return html`<section>
<h2>${id ?? `Conversation ${index + 1}`}</h2>
${fact(facts.join(' · '))}
${unreadParts.length === 0 ? undefined : fact(`Not read: ${unreadParts.join(', ')}.`)}
<figure>
<div class="scroll">${lineChart(
    series.map(([, { calls }]) => ({
      values: calls.map(({ request }) => request),
      marks: calls.flatMap(({ reduced }, at) => (reduced ? [at] : [])),
    })),
    window,
  )}</div>
<figcaption>${series.map(([name], at) => html`<span class="key"><i class="series-${at}"></i>${name}</span>`)}<span class="key">dots: reductions</span></figcaption>
</figure>
${table(figures, currency)}
${recorded && fact(billOf(recorded))}
${Object.entries(lost).flatMap(([name, names]) => (names.length === 0 ? [] : [lostNames(name, names)]))}
</section>`;
}

type Conversation = ReplayReport['conversations'][number];

function fact(text: string): Html {
  return html`<p class="facts">${text}</p>`;
}

function billOf({
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  outputTokens,
  calls,
}: RecordedBill): string {
  const input = inputTokens + cachedInputTokens + cacheWriteTokens;
  const cached = formatShare(cachedInputTokens / Math.max(1, input));
  return `Billed in the recording: ${formatNumber(input)} input tokens in ${calls} calls, ${cached} of them from the cache; ${formatNumber(outputTokens)} output tokens.`;
}

function lostNames(strategy: string, names: readonly string[]): Html {
  const more = names.length > MAX_LOST ? `and ${names.length - MAX_LOST} more` : '';
  const shown = names.slice(0, MAX_LOST).map((name) => html`<code>${name}</code> `);
  return html`<details><summary>${names.length} names that ${strategy} had lost when they were used</summary><p class="names">${shown}${more}</p></details>`;
}

function table(rows: readonly Figures[], currency: string | undefined): Html {
  const head = Object.keys(COLUMNS).map((heading) => html`<th scope="col">${heading}</th>`);
  const { strategy: _, ...cells } = COLUMNS;
  const row = (figures: Figures) =>
    html`<tr><th scope="row">${figures.strategy}</th>${Object.values(cells).map((cell) => html`<td>${cell(figures, currency)}</td>`)}</tr>`;
  return html`<div class="scroll"><table>
<thead><tr>${head}</tr></thead>
<tbody>${rows.map(row)}</tbody>
</table></div>`;
}
