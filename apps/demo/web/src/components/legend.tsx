import './legend.css';
import { exactCount, share, shortCount } from '../lib/format.js';
import { freeSource, type Source, sources, tokensOf } from '../lib/sources.js';
import { hoveredSource } from '../state/hovered-source.js';
import { context } from '../state/session.js';
import { windowSize } from '../state/window-size.js';

const rows: readonly Source[] = [...sources, freeSource];

/** The sources by name, with tokens and share. */
export function Legend() {
  const usage = context.value;
  if (!usage) return null;
  const window = windowSize.value;
  return (
    <dl class="figures legend">
      {rows.map(({ key, name, description, className }) => {
        const tokens = tokensOf(usage, key, window);
        return (
          <div
            key={key}
            title={`${description}: ${exactCount(tokens)} tokens`}
            data-lit={hoveredSource.value === key}
            onPointerEnter={() => {
              hoveredSource.value = key;
            }}
            onPointerLeave={() => {
              hoveredSource.value = undefined;
            }}
          >
            <dt>
              <span class={`swatch ${className}`} />
              {name}
            </dt>
            <dd>{shortCount(tokens)}</dd>
            <dd class="legend-share">{share(tokens, window)}</dd>
          </div>
        );
      })}
    </dl>
  );
}
