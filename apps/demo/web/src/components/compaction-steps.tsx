import './compaction-steps.css';
import type { CompactionStep } from '@x/core';
import { duration, exactCount, shortCount } from '../lib/format.js';

/** The reducers that ran, in order, with messages and tokens before and after. */
export function CompactionSteps({ steps }: { readonly steps: readonly CompactionStep[] }) {
  const most = Math.max(...steps.map((step) => step.tokensBefore), 1);
  return (
    <div class="steps">
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Messages</th>
            <th scope="col">Tokens</th>
            <th scope="col">
              <span class="visually-hidden">Share</span>
            </th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step, index) => (
            <tr key={index} data-idle={step.tokensAfter === step.tokensBefore}>
              <th scope="row">
                {step.reducer}
                {step.note && <span class="steps-note">{step.note}</span>}
              </th>
              <td>
                {exactCount(step.messagesBefore)} → {exactCount(step.messagesAfter)}
              </td>
              <td title={`${exactCount(step.tokensBefore)} → ${exactCount(step.tokensAfter)} tokens`}>
                {shortCount(step.tokensBefore)} → {shortCount(step.tokensAfter)}
              </td>
              <td class="steps-bar">
                <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                  <rect class="steps-before" width={(step.tokensBefore / most) * 100} height="8" />
                  <rect class="steps-after" width={(step.tokensAfter / most) * 100} height="8" />
                </svg>
              </td>
              <td>{duration(step.durationMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
