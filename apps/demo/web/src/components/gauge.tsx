import './gauge.css';
import { exactCount, share, shortCount } from '../lib/format.js';
import { emptyUsage, freeSource, sources, tokensOf } from '../lib/sources.js';
import { hoveredSource } from '../state/hovered-source.js';
import { info } from '../state/info.js';
import { context } from '../state/session.js';
import { windowSize } from '../state/window-size.js';
import { GaugeBar } from './gauge-bar.js';

/** How full the window is: a figure, the bar, and what lies under the pointer in words. */
export function Gauge() {
  const usage = context.value ?? emptyUsage;
  const window = windowSize.value;
  return (
    <div class="gauge">
      <p class="gauge-figure">
        <strong title={`${exactCount(usage.total)} tokens`}>{share(usage.total, window)} full</strong>
        <span title={`${exactCount(usage.total)} of ${exactCount(window)} tokens`}>
          {shortCount(usage.total)} of {shortCount(window)} tokens
        </span>
      </p>
      <GaugeBar />
      <Readout />
    </div>
  );
}

function Readout() {
  const usage = context.value ?? emptyUsage;
  const key = hoveredSource.value;
  const window = windowSize.value;
  const trigger = info.value?.triggerTokens ?? 0;
  if (key) {
    const source = [...sources, freeSource].find((candidate) => candidate.key === key);
    const tokens = tokensOf(usage, key, window);
    return (
      <p class="gauge-readout">
        <strong>{source?.name}</strong> {exactCount(tokens)} tokens, {share(tokens, window)} of the window
      </p>
    );
  }
  return (
    <p class="gauge-readout">
      {trigger > 0 ? `Compacts at the tick, ${shortCount(trigger)} tokens` : 'Compacts only when asked to'}
    </p>
  );
}
