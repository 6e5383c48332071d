import './inspect-view.css';
import { signal, useSignalEffect } from '@preact/signals';
import { Minus, PencilLine, Plus } from 'lucide-preact';
import type { RequestMessage, RequestView } from '../../../src/server/backend.js';
import { firstLine } from '../../../src/server/message-text.js';
import { WindowChart } from '../charts/window-chart.js';
import { WindowTreemap } from '../charts/window-treemap.js';
import { costOf, duration, exactCount, money, plural, share, shortCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { ApiError, api } from '../state/api.js';
import { info } from '../state/info.js';
import { entries, phase, replies, sessionId, timeline, title } from '../state/session.js';
import { lookedAt } from '../state/view.js';
import { Button } from './button.js';
import { CodeBlock } from './code-block.js';
import { Fold } from './fold.js';
import { ViewFrame } from './view-frame.js';

const shown = signal<RequestView | undefined>(undefined);
const failure = signal('');
let asked = 0;

/** Behind the conversation: every request with its difference from the one before, and what it cost. */
export function InspectView() {
  useSignalEffect(() => {
    // The next request is another one after each step, also while the agent works.
    if (timeline.value.length > 0) void load(sessionId.value, lookedAt.value);
  });
  return (
    <ViewFrame
      title="Inspector"
      lead={`What filled the window of “${title.value || 'this conversation'}” in every request, and what each model call took.`}
    >
      {phase.value === 'failed' && <p class="failure small">The conversation could not be loaded.</p>}
      {phase.value === 'ready' && timeline.value.length > 0 && (
        <>
          <section aria-label="Every request">
            <h2>Every request</h2>
            <WindowChart width={1_000} height={200} step={lookedAt.value} onPick={look} />
            <Scrubber />
            <Sources />
          </section>
          <Request />
          <section aria-label="What every call took">
            <h2>What every call took</h2>
            <StepCosts />
          </section>
        </>
      )}
      {phase.value === 'ready' && timeline.value.length === 0 && (
        <p class="quiet small">
          No call of a model has been recorded here yet: what fills the window shows with the next one.
        </p>
      )}
    </ViewFrame>
  );
}

function look(step: number | undefined): void {
  lookedAt.value = step;
}

async function load(session: string, step: number | undefined): Promise<void> {
  const turn = ++asked;
  try {
    const view = await api.request(session, step);
    if (turn !== asked) return;
    shown.value = view;
    failure.value = '';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (turn !== asked) return;
    shown.value = undefined;
    failure.value = error.message;
  }
}

function Scrubber() {
  const last = timeline.value.at(-1)?.step ?? 0;
  const step = lookedAt.value;
  return (
    <div class="row wrap small">
      <label class="row">
        Request
        <input
          class="field scrubber"
          type="number"
          min={1}
          max={last}
          value={step ?? ''}
          placeholder="next"
          onInput={({ currentTarget: { value } }) =>
            look(value === '' ? undefined : Math.min(last, Math.max(1, Math.round(Number(value)))))
          }
        />
        of {exactCount(last)}
      </label>
      <Button disabled={step === 1} onClick={() => look((step ?? last + 1) - 1)}>
        Before
      </Button>
      <Button
        disabled={step === undefined}
        onClick={() => look(step === last || step === undefined ? undefined : step + 1)}
      >
        After
      </Button>
      <Button disabled={step === undefined} onClick={() => look(undefined)}>
        Now
      </Button>
    </div>
  );
}

function Request() {
  const view = shown.value;
  const step = lookedAt.value;
  const name = step === undefined ? 'What the model sees now' : `What the model saw in request ${step}`;
  const added = view?.messages.filter(({ change }) => change === 'added') ?? [];
  const altered = view?.messages.filter(({ change }) => change === 'altered') ?? [];
  const same = view?.messages.filter(({ change }) => change === undefined) ?? [];
  const groups = [
    { title: 'New since the request before', icon: Plus, messages: added },
    { title: 'Altered since', icon: PencilLine, messages: altered },
    { title: 'Gone since', icon: Minus, messages: view?.removed ?? [] },
    { title: step === undefined ? 'In it' : 'As before', icon: undefined, messages: same },
  ];
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      {failure.value && <p class="failure small">{failure.value}</p>}
      <WindowTreemap view={view} />
      {groups.map(({ title: heading, icon: Icon, messages }) =>
        messages.length === 0 ? null : (
          <Fold
            key={heading}
            id={`request-${heading.replaceAll(' ', '-')}`}
            line={
              <>
                {Icon && <Icon size={16} aria-hidden="true" />}
                <span class="grow">{heading}</span>
                <span class="figure">{plural(messages.length, 'message')}</span>
              </>
            }
          >
            {() => (
              <ul class="request-messages">
                {messages.map((message) => (
                  <li key={message.id}>
                    <MessageLine message={message} group={heading} />
                  </li>
                ))}
              </ul>
            )}
          </Fold>
        ),
      )}
    </section>
  );
}

function MessageLine({ message, group }: { readonly message: RequestMessage; readonly group: string }) {
  const { id, source, text, tokens } = message;
  const line = (
    <>
      <span class={`swatch source-${source}`} aria-hidden="true" />
      <span class="clip">{firstLine(text) || 'no text'}</span>
      <span class="figure">{plural(tokens, 'token')}</span>
    </>
  );
  return (
    <Fold id={`request-${group.replaceAll(' ', '-')}-${id}`} line={line}>
      {() => <CodeBlock label="As the model was sent it" text={text} />}
    </Fold>
  );
}

function Sources() {
  return (
    <ul class="chart-legend row wrap small">
      {sources.map(({ key, name }) => (
        <li key={key} class="row">
          <span class={`swatch source-${key}`} aria-hidden="true" /> {name}
        </li>
      ))}
    </ul>
  );
}

/** What every model call took: tokens in, the share of them that the provider had cached, tokens out, cost. */
function StepCosts() {
  const prices = info.value?.model.prices;
  const known = entries.value.flatMap((entry) => {
    const figures = replies.value[entry.id];
    return figures ? [{ id: entry.id, ...figures }] : [];
  });
  if (known.length === 0) return <p class="quiet small">No call of a model has been recorded yet.</p>;
  const most = Math.max(...known.map(({ usage }) => usage?.inputTokens ?? 0), 1);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys.
    <div class="table-scroll" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Call</th>
            <th scope="col">In</th>
            <th scope="col">From cache</th>
            <th scope="col" class="bar">
              <span class="visually-hidden">Of the largest</span>
            </th>
            <th scope="col">Out</th>
            <th scope="col">Time</th>
            {prices && <th scope="col">Cost</th>}
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
                <td class="bar">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="whole" width={(input / most) * 100} height="8" />
                    <rect width={(cached / most) * 100} height="8" />
                  </svg>
                </td>
                <td title={exactCount(usage?.outputTokens ?? 0)}>{shortCount(usage?.outputTokens ?? 0)}</td>
                <td>{duration(durationMs)}</td>
                {prices && <td>{usage ? money(costOf(usage, prices)) : '–'}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
