import { Minus, PencilLine, Plus } from 'lucide-preact';
import { firstLine, type RequestMessage, type RequestView } from '../../../src/page.js';
import { costOf, duration, exactCount, money, plural, share, shortCount } from '../lib/format.js';
import { sources } from '../lib/sources.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { entries, info, phase, problem, replies, sessionId, timeline, title } from '../state/session.js';
import { lookedAt } from '../state/view.js';
import { Button, CodeBlock, Fold, Section, ViewFrame } from './parts.js';
import { WindowChart } from './window-chart.js';
import { WindowTreemap } from './window-treemap.js';

function look(step: number | undefined): void {
  lookedAt.value = step;
}

/** Every request of the conversation, its difference from the one before, and what it cost. */
export function InspectView() {
  const step = lookedAt.value;
  const session = sessionId.value;
  const points = timeline.value.length;
  const isThere = phase.value === 'ready' && points > 0;
  // The next request changes with every point of the time line.
  const { value: request, failure } = useLoaded(
    () => (isThere ? api.request(session, step) : undefined),
    [isThere, session, step, points],
  );
  const name = step === undefined ? 'What the model sees now' : `What the model saw in request ${step}`;
  return (
    <ViewFrame
      title="Inspector"
      lead={`What filled the window of “${title.value || 'this conversation'}” in every request, and what each model call took.`}
      failure={phase.value === 'failed' ? problem.value?.message : undefined}
    >
      {isThere && (
        <>
          <Section title="Every request">
            <WindowChart width={1_000} height={200} step={step} onPick={look} />
            <Scrubber />
            <ul class="chart-legend row wrap small">
              {sources.map(({ key, name: source }) => (
                <li key={key} class="row">
                  <span class={`swatch source-${key}`} aria-hidden="true" /> {source}
                </li>
              ))}
            </ul>
          </Section>
          <Section title={name}>
            {failure && <p class="failure small">{failure}</p>}
            {request && <Request request={request} />}
          </Section>
          <Section title="What every call took">
            <StepCosts />
          </Section>
        </>
      )}
      {phase.value === 'ready' && points === 0 && (
        <p class="quiet small">There was no model call yet. The first one will show here.</p>
      )}
    </ViewFrame>
  );
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
        Previous
      </Button>
      <Button
        disabled={step === undefined}
        onClick={() => look(step === undefined || step === last ? undefined : step + 1)}
      >
        Next
      </Button>
      <Button disabled={step === undefined} onClick={() => look(undefined)}>
        Latest
      </Button>
    </div>
  );
}

function Request({ request }: { readonly request: RequestView }) {
  const changed = (change: RequestMessage['change']) =>
    request.messages.filter((message) => message.change === change);
  const groups = [
    { heading: 'New since the request before', icon: Plus, messages: changed('added') },
    { heading: 'Altered since then', icon: PencilLine, messages: changed('altered') },
    { heading: 'Removed since then', icon: Minus, messages: request.removed },
    { heading: 'Unchanged', icon: undefined, messages: changed(undefined) },
  ];
  return (
    <>
      <WindowTreemap view={request} />
      {groups.map(({ heading, icon: Icon, messages }) =>
        messages.length === 0 ? null : (
          <Fold
            key={heading}
            id={`request-${heading}`}
            line={
              <>
                {Icon && <Icon size={16} aria-hidden="true" />}
                <span class="grow">{heading}</span>
                <span class="figure">{plural(messages.length, 'message')}</span>
              </>
            }
          >
            {() =>
              messages.map((message) => <MessageLine key={message.id} message={message} group={heading} />)
            }
          </Fold>
        ),
      )}
    </>
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
    <Fold id={`request-${group}-${id}`} line={line}>
      {() => <CodeBlock label="As it was sent" text={text} />}
    </Fold>
  );
}

/** What every model call took: tokens in, the share from the provider's cache, tokens out, time, cost. */
function StepCosts() {
  const prices = info.value?.model.prices;
  const known = entries.value.flatMap(({ id }) => replies.value[id] ?? []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys.
    <div class="table-scroll" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {['Call', 'In', 'From cache', 'Out', 'Time', ...(prices ? ['Cost'] : [])].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {known.map(({ usage, durationMs }, index) => {
            const {
              inputTokens: input = 0,
              outputTokens: output = 0,
              cachedInputTokens: cached = 0,
            } = usage ?? {};
            return (
              <tr key={index}>
                <th scope="row">{index + 1}</th>
                <td title={exactCount(input)}>{shortCount(input)}</td>
                <td title={exactCount(cached)}>{share(cached, input)}</td>
                <td title={exactCount(output)}>{shortCount(output)}</td>
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
