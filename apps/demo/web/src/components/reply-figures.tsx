import { useComputed } from '@preact/signals';
import { costOf } from '../lib/cost.js';
import { duration, exactCount, money, plural, share, shortCount } from '../lib/format.js';
import { info } from '../state/info.js';
import { replies } from '../state/session.js';

/** What a reply took: tokens in and out, the cached share, time, and cost where prices are known. */
export function ReplyFigures({ messageIds }: { readonly messageIds: readonly string[] }) {
  const known = useComputed(() =>
    messageIds.flatMap((id) => {
      const figures = replies.value[id];
      return figures ? [figures] : [];
    }),
  );
  const figures = known.value;
  if (figures.length === 0) return null;
  const sum = (pick: (figure: (typeof figures)[number]) => number | undefined) =>
    figures.reduce((total, figure) => total + (pick(figure) ?? 0), 0);
  const input = sum(({ usage }) => usage?.inputTokens);
  const cached = sum(({ usage }) => usage?.cachedInputTokens);
  const output = sum(({ usage }) => usage?.outputTokens);
  const milliseconds = sum(({ durationMs }) => durationMs);
  const pricing = info.value?.model.pricing;
  const parts = [
    figures.length > 1 && plural(figures.length, 'model call'),
    `${shortCount(input)} in${cached > 0 ? ` (${share(cached, input)} cached)` : ''}`,
    `${shortCount(output)} out`,
    duration(milliseconds),
    pricing &&
      money(
        costOf({ inputTokens: input, outputTokens: output, cachedInputTokens: cached }, pricing),
        pricing.currency,
      ),
  ].filter(Boolean);
  const exact = `${exactCount(input)} tokens in, ${exactCount(cached)} of them cached, ${exactCount(output)} out`;
  return (
    <span class="reply-figures" title={exact}>
      {parts.join(' · ')}
    </span>
  );
}
