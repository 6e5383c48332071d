import './step-costs.css';
import { costOf } from '../lib/cost.js';
import { duration, exactCount, money, share, shortCount } from '../lib/format.js';
import { info } from '../state/info.js';
import { entries, replies } from '../state/session.js';

/** What every model call took: tokens in, the share of them that the provider had cached, tokens out, cost. */
export function StepCosts() {
  const pricing = info.value?.model.pricing;
  const known = entries.value.flatMap((entry) => {
    const figures = replies.value[entry.id];
    return figures ? [{ id: entry.id, ...figures }] : [];
  });
  if (known.length === 0) return <p class="view-note">No call of a model has been recorded yet.</p>;
  const most = Math.max(...known.map(({ usage }) => usage?.inputTokens ?? 0), 1);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys.
    <div class="inspect-table" tabIndex={0}>
      <table class="table step-costs">
        <thead>
          <tr>
            <th scope="col">Call</th>
            <th scope="col">In</th>
            <th scope="col">From cache</th>
            <th scope="col" class="step-bar">
              <span class="visually-hidden">Of the largest</span>
            </th>
            <th scope="col">Out</th>
            <th scope="col">Time</th>
            {pricing && <th scope="col">Cost</th>}
          </tr>
        </thead>
        <tbody>
          {known.map(({ id, usage, durationMs }, index) => {
            const input = usage?.inputTokens ?? 0;
            const cached = usage?.cachedInputTokens ?? 0;
            return (
              <tr key={id}>
                <th scope="row">{index + 1}</th>
                <td title={exactCount(input)}>{shortCount(input)}</td>
                <td title={exactCount(cached)}>{share(cached, input)}</td>
                <td class="step-bar">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="step-input" width={(input / most) * 100} height="8" />
                    <rect class="step-cached" width={(cached / most) * 100} height="8" />
                  </svg>
                </td>
                <td title={exactCount(usage?.outputTokens ?? 0)}>{shortCount(usage?.outputTokens ?? 0)}</td>
                <td>{duration(durationMs)}</td>
                {pricing && <td>{usage ? money(costOf(usage, pricing), pricing.currency) : '–'}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
