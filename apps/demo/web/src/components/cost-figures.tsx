import { costOf } from '../lib/cost.js';
import { exactCount, money, share, shortCount } from '../lib/format.js';
import { info } from '../state/info.js';
import { totals } from '../state/session.js';

/** What the session has taken so far. */
export function CostFigures() {
  const { usage, modelCalls } = totals.value;
  const cached = usage.cachedInputTokens ?? 0;
  const model = info.value?.model;
  const rows: readonly (readonly [string, string, string])[] = [
    ['Model calls', exactCount(modelCalls), ''],
    ['Tokens in', shortCount(usage.inputTokens), exactCount(usage.inputTokens)],
    [
      'of them from the cache',
      `${shortCount(cached)} · ${share(cached, usage.inputTokens)}`,
      exactCount(cached),
    ],
    ['Tokens out', shortCount(usage.outputTokens), exactCount(usage.outputTokens)],
    ['Cost', costInWords(), ''],
  ];
  return (
    <dl class="figures">
      {rows.map(([name, figure, exact]) => (
        <div key={name} title={exact && `${exact} tokens`}>
          <dt>{name}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  );

  function costInWords(): string {
    if (model?.pricing) return money(costOf(usage, model.pricing), model.pricing.currency);
    return model?.embedded ? 'none: no LLM' : 'prices unknown';
  }
}
