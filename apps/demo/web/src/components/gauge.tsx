import { exactCount, share, shortCount } from '../lib/format.js';
import { emptyUsage, partsOf } from '../lib/sources.js';
import { blocks, context, info, windowSize } from '../state/session.js';
import { shownPlace } from '../state/view.js';

/** Returns the window at the selected place, otherwise the current one. */
const shownUsage = () => shownPlace.value?.context ?? context.value ?? emptyUsage;

/** The usage of the window: a figure, the bar, and what happens next. */
export function Gauge() {
  const { total } = shownUsage();
  const window = windowSize.value;
  // Messages that came from elsewhere have not been sent yet.
  const isCounted = context.value !== undefined || blocks.value.length === 0;
  const [isOver, words] = shownPlace.value
    ? [total > window, 'The window at this place. “Latest” shows the current window.']
    : isCounted
      ? whatIsNext(total, window)
      : [false, 'The next request counts its tokens.'];
  return (
    <div class="stack gauge">
      <p class="gauge-figure row">
        <strong class={`grow${isOver ? ' warn' : ''}`} title={`${exactCount(total)} tokens`}>
          {isCounted ? `${share(total, window)} full` : 'Not counted yet'}
        </strong>
        <span class="quiet small" title={`${exactCount(total)} of ${exactCount(window)} tokens`}>
          {isCounted ? `${shortCount(total)} of ` : ''}
          {shortCount(window)} tokens
        </span>
      </p>
      <GaugeBar />
      <p class={`gauge-readout small ${isOver ? 'warn' : 'quiet'}`}>{words}</p>
    </div>
  );
}

/** Describes what happens to the window next, and whether it is too full now. */
export function whatIsNext(total: number, window: number): readonly [isOver: boolean, words: string] {
  const { triggerTokens = 0 } = info.value ?? {};
  if (total > window) return [true, 'Over the window: the next message compacts first.'];
  if (triggerTokens <= 0) return [false, 'Compacts only when you ask for it.'];
  if (total >= triggerTokens) return [true, 'Past the tick: the next message compacts first.'];
  return [false, `Compacts at the tick, ${shortCount(triggerTokens)} tokens.`];
}

/** The window as one bar, stacked by source, with a tick where compaction starts. The thin bar shows the current window. */
export function GaugeBar({ thin = false }: { readonly thin?: boolean }) {
  const window = windowSize.value;
  const usage = thin ? (context.value ?? emptyUsage) : shownUsage();
  const whole = Math.max(window, usage.total, 1);
  const trigger = info.value?.triggerTokens ?? 0;
  return (
    <div class={`gauge-bar${thin ? ' gauge-bar-thin' : ''}`}>
      <div class="gauge-parts">
        {partsOf(usage, window).map(({ key, name, tokens }) => (
          <div
            key={key}
            class={`gauge-part source-${key}`}
            title={`${name}: ${exactCount(tokens)} tokens, ${share(tokens, window)}`}
            style={{ width: `${(tokens / whole) * 100}%` }}
          />
        ))}
      </div>
      {trigger > 0 && <div class="gauge-tick" style={{ left: `${(trigger / whole) * 100}%` }} />}
    </div>
  );
}

/** The sources by name, with tokens and share. */
export function Legend() {
  const window = windowSize.value;
  return (
    <dl class="figures legend">
      {partsOf(shownUsage(), window).map(({ key, name, tokens }) => (
        <div key={key} title={`${exactCount(tokens)} tokens`}>
          <dt class="row">
            <span class={`swatch source-${key}`} />
            {name}
          </dt>
          <dd>{shortCount(tokens)}</dd>
          <dd>{share(tokens, window)}</dd>
        </div>
      ))}
    </dl>
  );
}
