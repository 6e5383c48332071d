import { savingsInWords } from '@x/harness/view';
import { costOf, duration, exactCount, money, share, shortCount } from '../lib/format.js';
import { info, phase, places, problem, title, transcript } from '../state/session.js';
import { showMessage } from '../state/show-message.js';
import type { Place } from '../state/transcript.js';
import { lookedAt } from '../state/view.js';
import { Legend } from './gauge.js';
import { Button, Section, ViewFrame } from './parts.js';
import { RequestChanges } from './request-changes.js';
import { WindowChart } from './window-chart.js';

function look(place: number | undefined): void {
  lookedAt.value = place;
}

/** What a place of the session is called. */
function placeTitle({ request, compaction }: Place, index: number): string {
  if (compaction === undefined && places.value[index - 1]?.request === request)
    return `Undo after request ${request}`;
  if (compaction === undefined) return `Request ${request}`;
  return `Compaction ${compaction.status} after request ${request}`;
}

/** Every request and compaction of the conversation, its difference from the one before, and what it cost. */
export function InspectView() {
  const at = lookedAt.value;
  const place = at === undefined ? places.value.at(-1) : places.value[at - 1];
  const isThere = phase.value === 'ready' && places.value.length > 0;
  const name =
    at === undefined ? 'What the model sees now' : place ? placeTitle(place, at - 1) : `Place ${at}`;
  return (
    <ViewFrame
      title="Inspector"
      lead={`What filled the window of “${title.value || 'this conversation'}”, request by request, and what it cost.`}
      failure={phase.value === 'failed' ? problem.value?.message : undefined}
    >
      {isThere && (
        <>
          <Section title="Every request">
            <WindowChart width={1_000} height={200} place={at} onPick={look} />
            <Scrubber />
            <p class="quiet label">
              ▲ compaction · outline: the window right before it · dashed line: compacts there
            </p>
          </Section>
          <Section title={name}>
            {place && <Legend context={place.context} />}
            <RequestChanges key={at ?? 0} place={at} whole />
          </Section>
          <Section title="What every request took">
            <RequestCosts />
          </Section>
          <Counted />
        </>
      )}
      {phase.value === 'ready' && places.value.length === 0 && (
        <p class="quiet small">There was no model call yet. The first one will show here.</p>
      )}
    </ViewFrame>
  );
}

function Scrubber() {
  const last = places.value.length;
  const at = lookedAt.value;
  const requests = places.value.at(-1)?.request ?? 0;
  const goTo = (request: number) => {
    const index = places.value.findIndex((place) => place.request === request);
    if (index >= 0) look(index + 1);
  };
  return (
    <div class="row wrap small">
      <Button disabled={at === 1} onClick={() => look(Math.max(1, (at ?? last + 1) - 1))}>
        Previous
      </Button>
      <Button
        disabled={at === undefined}
        onClick={() => look(at === undefined || at >= last ? undefined : at + 1)}
      >
        Next
      </Button>
      <Button disabled={at === undefined} onClick={() => look(undefined)}>
        Latest
      </Button>
      <label class="row">
        Request
        <input
          class="field scrubber"
          type="number"
          min={1}
          max={requests}
          value={at === undefined ? '' : (places.value[at - 1]?.request ?? '')}
          placeholder="next"
          onInput={({ currentTarget: { value } }) => (value === '' ? look(undefined) : goTo(Number(value)))}
        />
        of {exactCount(requests)}
      </label>
    </div>
  );
}

/** What every request took: tokens in, the share from the provider's cache, tokens out, time, cost. */
function RequestCosts() {
  const prices = info.value?.model.prices;
  const { replies } = transcript.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys.
    <div class="table-scroll" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {['Request', 'In', 'From cache', 'Out', 'Time', ...(prices ? ['Cost'] : []), ''].map((name) => (
              <th key={name} scope="col">
                {name || <span class="visually-hidden">Answer</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.value.map(({ request, messageId }, index) => {
            const { usage, durationMs } = replies.get(messageId ?? '') ?? {};
            if (messageId === undefined || durationMs === undefined) return null;
            const {
              inputTokens: input = 0,
              outputTokens: output = 0,
              cachedInputTokens: cached = 0,
            } = usage ?? {};
            return (
              <tr key={index}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => look(index + 1)}>
                    {request}
                  </button>
                </th>
                <td title={exactCount(input)}>{shortCount(input)}</td>
                <td title={exactCount(cached)}>{share(cached, input)}</td>
                <td title={exactCount(output)}>{shortCount(output)}</td>
                <td>{duration(durationMs)}</td>
                {prices && <td>{usage ? money(costOf(usage, prices)) : '–'}</td>}
                <td>
                  <button type="button" class="link" onClick={() => showMessage(messageId)}>
                    answer
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** How the line about savings is counted. */
function Counted() {
  const { savings } = transcript.value;
  const words = savingsInWords(savings);
  return (
    <Section title="How savings are counted">
      <p class="small">{words || 'Nothing was removed so far, so nothing was saved.'}</p>
      <p class="quiet small">
        Each request counts as it was sent. Without compaction it would also have had what the compactions
        before it removed: {savings.compactions} of them stand. An undo gives that back. What models took to
        write summaries counts as sent. The steps are taken to be the same.
      </p>
    </Section>
  );
}
