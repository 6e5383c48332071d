import { signal } from '@preact/signals';
import { exactCount, share, shortCount } from '../lib/format.js';
import { emptyUsage, parts, type SourceKey, tokensOf } from '../lib/sources.js';
import { context, info, places, windowSize } from '../state/session.js';
import { lookedAt } from '../state/view.js';

/** The source under the pointer or the focus: bar, legend and charts light it up together. */
const hoveredSource = signal<SourceKey | undefined>(undefined);

export function isDim(key: SourceKey): boolean {
  return hoveredSource.value !== undefined && hoveredSource.value !== key;
}

/** The attributes of an element that lights a source up. */
function pointing(key: SourceKey) {
  const show = () => {
    hoveredSource.value = key;
  };
  const hide = () => {
    hoveredSource.value = undefined;
  };
  return { onPointerEnter: show, onPointerLeave: hide, onFocus: show, onBlur: hide };
}

/** The window at the place that is looked at, else as it is now. */
function shownUsage() {
  const { value: at } = lookedAt;
  return (at === undefined ? context.value : places.value[at - 1]?.context) ?? emptyUsage;
}

/** The parts of a window with their tokens, the free room last. */
function filled(usage = shownUsage()) {
  return parts.map((part) => ({ ...part, tokens: tokensOf(usage, part.key, windowSize.value) }));
}

/** How full the window is: a figure, the bar, and in words what the pointer is on. */
export function Gauge() {
  const { total } = shownUsage();
  const window = windowSize.value;
  const lit = filled().find(({ key }) => key === hoveredSource.value);
  const isNow = lookedAt.value === undefined;
  const [isOver, next] = isNow
    ? whatIsNext(total, window, info.value?.triggerTokens ?? 0)
    : [total > window, 'As it was there. “Latest” shows the window now.'];
  return (
    <div class="stack gauge">
      <p class="gauge-figure row">
        <strong class={`grow${isOver ? ' warn' : ''}`} title={`${exactCount(total)} tokens`}>
          {share(total, window)} full
        </strong>
        <span class="quiet small" title={`${exactCount(total)} of ${exactCount(window)} tokens`}>
          {shortCount(total)} of {shortCount(window)} tokens
        </span>
      </p>
      <GaugeBar />
      <p class={`gauge-readout small ${isOver && !lit ? 'warn' : 'quiet'}`}>
        {lit ? (
          <>
            <strong>{lit.name}</strong> {exactCount(lit.tokens)} tokens, {share(lit.tokens, window)} of the
            window
          </>
        ) : (
          next
        )}
      </p>
    </div>
  );
}

/** Says what happens to the window next, and whether it is too full now. */
function whatIsNext(
  total: number,
  window: number,
  trigger: number,
): readonly [isOver: boolean, words: string] {
  if (total > window) return [true, 'Over the window: the next message compacts first.'];
  if (trigger <= 0) return [false, 'Compacts only when you ask for it.'];
  if (total >= trigger) return [true, 'Past the tick: the next message compacts first.'];
  return [false, `Compacts at the tick, ${shortCount(trigger)} tokens.`];
}

/** The window as one bar, stacked by source, with a tick where a compaction begins. */
export function GaugeBar({ thin = false }: { readonly thin?: boolean }) {
  const window = windowSize.value;
  const usage = thin ? (context.value ?? emptyUsage) : shownUsage();
  const whole = Math.max(window, usage.total, 1);
  const trigger = info.value?.triggerTokens ?? 0;
  return (
    <div class={`gauge-bar${thin ? ' gauge-bar-thin' : ''}`}>
      <div class="gauge-parts">
        {filled(usage).map(({ key, name, tokens }) => {
          const label = `${name}: ${exactCount(tokens)} tokens, ${share(tokens, window)}`;
          const named = {
            role: 'img' as const,
            tabIndex: tokens > 0 ? 0 : -1,
            'aria-label': label,
            ...pointing(key),
          };
          return (
            <div
              key={key}
              class={`gauge-part source-${key}`}
              data-dim={isDim(key)}
              data-empty={tokens === 0}
              style={{ width: `${(tokens / whole) * 100}%` }}
              {...(thin ? {} : named)}
            />
          );
        })}
      </div>
      {trigger > 0 && <div class="gauge-tick" style={{ left: `${(trigger / whole) * 100}%` }} />}
    </div>
  );
}

/** The sources by name, with tokens and share. */
export function Legend() {
  return (
    <dl class="figures legend">
      {filled().map(({ key, name, description, tokens }) => (
        <div
          key={key}
          title={`${description}: ${exactCount(tokens)} tokens`}
          data-lit={hoveredSource.value === key}
          {...pointing(key)}
        >
          <dt class="row">
            <span class={`swatch source-${key}`} />
            {name}
          </dt>
          <dd>{shortCount(tokens)}</dd>
          <dd>{share(tokens, windowSize.value)}</dd>
        </div>
      ))}
    </dl>
  );
}
