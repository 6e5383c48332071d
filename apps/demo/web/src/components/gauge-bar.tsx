import './gauge-bar.css';
import { exactCount, share } from '../lib/format.js';
import { emptyUsage, freeSource, type Source, sources, tokensOf } from '../lib/sources.js';
import { hoveredSource } from '../state/hovered-source.js';
import { info } from '../state/info.js';
import { context } from '../state/session.js';
import { windowSize } from '../state/window-size.js';

const parts: readonly Source[] = [...sources, freeSource];

/** The window as one bar, stacked by source, with a tick where a compaction begins. */
export function GaugeBar({ thin = false }: { readonly thin?: boolean }) {
  const usage = context.value ?? emptyUsage;
  const window = windowSize.value;
  const whole = Math.max(window, usage.total, 1);
  const trigger = info.value?.triggerTokens ?? 0;
  return (
    <div class={thin ? 'gauge-bar gauge-bar-thin' : 'gauge-bar'}>
      <div class="gauge-parts">
        {parts.map(({ key, name, className }) => {
          const tokens = tokensOf(usage, key, window);
          const label = `${name}: ${exactCount(tokens)} tokens, ${share(tokens, window)}`;
          return (
            <div
              key={key}
              class={`gauge-part ${className}`}
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

function show(key: Source['key'] | undefined): void {
  hoveredSource.value = key;
}
