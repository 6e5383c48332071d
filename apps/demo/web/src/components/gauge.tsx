import { exactCount, share, shortCount } from '../lib/format.js';
import { emptyUsage, nameOf, parts, type SourceKey, tokensOf } from '../lib/sources.js';
import { info } from '../state/info.js';
import { context, windowSize } from '../state/session.js';
import { hoveredSource } from '../state/view.js';

/** How full the window is: a figure, the bar, and what lies under the pointer in words. */
export function Gauge() {
  const usage = context.value ?? emptyUsage;
  const window = windowSize.value;
  return (
    <div class="gauge stack">
      <p class="gauge-figure">
        <strong title={`${exactCount(usage.total)} tokens`}>{share(usage.total, window)} full</strong>
        <span class="quiet small" title={`${exactCount(usage.total)} of ${exactCount(window)} tokens`}>
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
    const tokens = tokensOf(usage, key, window);
    return (
      <p class="gauge-readout quiet small">
        <strong>{nameOf(key)}</strong> {exactCount(tokens)} tokens, {share(tokens, window)} of the window
      </p>
    );
  }
  return (
    <p class="gauge-readout quiet small">
      {trigger > 0 ? `Compacts at the tick, ${shortCount(trigger)} tokens` : 'Compacts only when asked to'}
    </p>
  );
}

/** The window as one bar, stacked by source, with a tick where a compaction begins. */
export function GaugeBar({ thin = false }: { readonly thin?: boolean }) {
  const usage = context.value ?? emptyUsage;
  const window = windowSize.value;
  const whole = Math.max(window, usage.total, 1);
  const trigger = info.value?.triggerTokens ?? 0;
  return (
    <div class={thin ? 'gauge-bar gauge-bar-thin' : 'gauge-bar'}>
      <div class="gauge-parts">
        {parts.map(({ key, name }) => {
          const tokens = tokensOf(usage, key, window);
          const label = `${name}: ${exactCount(tokens)} tokens, ${share(tokens, window)}`;
          return (
            <div
              key={key}
              class={`gauge-part source-${key}`}
              data-dim={hoveredSource.value !== undefined && hoveredSource.value !== key}
              data-empty={tokens === 0}
              style={{ width: `${(tokens / whole) * 100}%` }}
              {...(thin
                ? {}
                : {
                    role: 'img',
                    tabIndex: tokens > 0 ? 0 : -1,
                    'aria-label': label,
                    onPointerEnter: () => show(key),
                    onPointerLeave: () => show(undefined),
                    onFocus: () => show(key),
                    onBlur: () => show(undefined),
                  })}
            />
          );
        })}
      </div>
      {trigger > 0 && <div class="gauge-tick" style={{ left: `${(trigger / whole) * 100}%` }} />}
    </div>
  );
}

function show(key: SourceKey | undefined): void {
  hoveredSource.value = key;
}

/** The sources by name, with tokens and share. */
export function Legend() {
  const usage = context.value;
  if (!usage) return null;
  const window = windowSize.value;
  return (
    <dl class="figures legend">
      {parts.map(({ key, name, description }) => {
        const tokens = tokensOf(usage, key, window);
        return (
          <div
            key={key}
            title={`${description}: ${exactCount(tokens)} tokens`}
            data-lit={hoveredSource.value === key}
            onPointerEnter={() => show(key)}
            onPointerLeave={() => show(undefined)}
          >
            <dt class="row">
              <span class={`swatch source-${key}`} />
              {name}
            </dt>
            <dd>{shortCount(tokens)}</dd>
            <dd>{share(tokens, window)}</dd>
          </div>
        );
      })}
    </dl>
  );
}
