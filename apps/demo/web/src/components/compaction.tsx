import { useComputed, useSignal } from '@preact/signals';
import type { CompactionStep, ManifestEntry, Message } from '@x/core';
import { NotebookText, Shrink, Sparkle, TriangleAlert, Undo2, User } from 'lucide-preact';
import { firstLine, textOf } from '../../../src/page.js';
import { duration, exactCount, plural, shortCount, size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { compactionTitle, fatesInWords, firstArgument, reasons, said, toolIcon } from '../lib/words.js';
import { api } from '../state/api.js';
import { lastApplied, messagesById, toolCalls } from '../state/blocks.js';
import { busy, sessionId, undo } from '../state/session.js';
import { type Compaction, isStanding } from '../state/transcript.js';
import { Markdown } from './markdown.js';
import { Button, CodeBlock, Fold } from './parts.js';

interface CompactionProps {
  readonly compaction: Compaction;
}

/** A compaction as a line across the conversation. It opens to its details, whatever its outcome. */
export function CompactionDivider({ compaction }: CompactionProps) {
  const applied = compaction.status === 'applied';
  const Icon = applied ? Shrink : TriangleAlert;
  const { head, messages, tokens } = compactionTitle(compaction);
  const line = (
    <span class="compaction-line row">
      <Icon size={16} aria-hidden="true" />
      <span>
        <strong>{head}</strong>
        {messages && ` · ${messages}`}
        {tokens && <span class={messages && 'wide-only'}> · {tokens}</span>}
      </span>
    </span>
  );
  return (
    <article
      class={`block compaction${isStanding(compaction) ? '' : ' compaction-void'}`}
      id={compaction.id}
      data-turn
      tabIndex={-1}
      aria-label={head}
    >
      <Fold id={`${compaction.id}-fold`} line={line}>
        {() => <CompactionDetails compaction={compaction} />}
      </Fold>
    </article>
  );
}

/** The steps of a compaction, and what it took away. */
function CompactionDetails({ compaction }: CompactionProps) {
  const { id, status, detail, reason, durationMs, steps, manifest, undone, usage, view = [] } = compaction;
  const written = view.find((part): part is Message => typeof part === 'object' && part.kind === 'summary');
  const summary = written && textOf(written).replace(/\[\/?CONVERSATION_SUMMARY\]\n?/g, '');
  const facts = [
    ['Why', reasons[reason]],
    ['Outcome', `${undone ? 'undone' : status} · ${detail}`],
    ['Took', duration(durationMs)],
  ] as const;
  return (
    <div class="compaction-details card stack small">
      {manifest.length > 0 && !undone && <RemovedList compaction={compaction} />}
      <dl class="compaction-facts stack">
        {facts.map(([name, text]) => (
          <div key={name} class="row">
            <dt class="quiet">{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {steps.length > 0 && <CompactionSteps steps={steps} />}
      {summary && !undone && (
        <Fold
          id={`${id}-summary`}
          line={
            <span class="heading grow">
              What the model sees instead: {usage ? 'a summary' : 'a record made by rules'}
            </span>
          }
        >
          {() => (
            <div class="compaction-summary">{usage ? <Markdown text={summary} /> : <pre>{summary}</pre>}</div>
          )}
        </Fold>
      )}
      {lastApplied.value?.id === id && (
        <Button disabled={busy.value} onClick={() => void undo()}>
          <Undo2 size={16} aria-hidden="true" /> Undo this compaction
        </Button>
      )}
    </div>
  );
}

/** The steps that changed something, with messages and tokens before and after; the others in one line. */
function CompactionSteps({ steps }: { readonly steps: readonly CompactionStep[] }) {
  const isIdle = ({ tokensBefore, tokensAfter, messagesBefore, messagesAfter }: CompactionStep) =>
    tokensAfter === tokensBefore && messagesAfter === messagesBefore;
  const acted = steps.filter((step) => !isIdle(step));
  const idle = steps.filter(isIdle);
  const nameOf = ({ reducer }: CompactionStep) => reducer.replaceAll('_', ' ');
  const notes = idle.map((step) => `${nameOf(step)}${step.note ? `: ${step.note}` : ''}`).join('\n');
  return (
    <div class="steps stack">
      {acted.length > 0 && (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Messages</th>
              <th scope="col">Tokens</th>
              <th scope="col">Time</th>
            </tr>
          </thead>
          <tbody>
            {acted.map((step, index) => (
              <tr key={index}>
                <th scope="row" title={step.note}>
                  {nameOf(step)}
                </th>
                <td>
                  {exactCount(step.messagesBefore)} → {exactCount(step.messagesAfter)}
                </td>
                <td title={`${exactCount(step.tokensBefore)} → ${exactCount(step.tokensAfter)} tokens`}>
                  {shortCount(step.tokensBefore)} → {shortCount(step.tokensAfter)}
                </td>
                <td>{duration(step.durationMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {idle.length > 0 && (
        <p class="quiet" title={notes}>
          {plural(idle.length, 'step')} had nothing to do
        </p>
      )}
    </div>
  );
}

/** How many are shown at first. */
const FIRST = 8;

/** The messages that the model no longer sees as they were, oldest first. */
function RemovedList({ compaction }: CompactionProps) {
  const all = useSignal(false);
  const manifest = useComputed(() => {
    const places = new Map([...messagesById.value.keys()].map((id, index) => [id, index]));
    const place = ({ messageId }: ManifestEntry) => places.get(messageId) ?? -1;
    return compaction.manifest.toSorted((left, right) => place(left) - place(right));
  }).value;
  const shown = all.value ? manifest : manifest.slice(0, FIRST);
  return (
    <section>
      <h2 class="removed-heading heading">
        What the model no longer sees <span class="quiet small">{fatesInWords(manifest)}</span>
      </h2>
      <ul>
        {shown.map((entry) => (
          <li key={entry.messageId}>
            <RemovedItem entry={entry} compaction={compaction} />
          </li>
        ))}
      </ul>
      {shown.length < manifest.length && (
        <Button onClick={() => (all.value = true)}>Show all {manifest.length}</Button>
      )}
    </section>
  );
}

interface RemovedItemProps extends CompactionProps {
  readonly entry: ManifestEntry;
}

/** A message that a compaction removed or altered. It opens to the original and to what the model sees instead. */
function RemovedItem({ entry: { messageId, fate }, compaction }: RemovedItemProps) {
  const message = useComputed(() => messagesById.value.get(messageId)).value;
  const [Icon, name] = message ? faceOf(message) : [NotebookText, 'The summary of an earlier compaction'];
  const line = (
    <>
      <Icon size={16} aria-hidden="true" class="quiet" />
      <span class="clip">{name}</span>
      <span class="quiet label">{fate}</span>
      {message && <span class="figure">{size(textOf(message).length)}</span>}
    </>
  );
  if (!message) return <div class="removed-item fold-line">{line}</div>;
  const stub = compaction.view?.find(
    (part): part is Message => typeof part === 'object' && part.id === messageId,
  );
  return (
    <Fold id={`${compaction.id}-${messageId}`} class="removed-item" line={line}>
      {() => <Original messageId={messageId} stub={stub && textOf(stub)} />}
    </Fold>
  );
}

interface OriginalProps {
  readonly messageId: string;
  /** What the model saw in its place right after the compaction. */
  readonly stub: string | undefined;
}

function Original({ messageId, stub }: OriginalProps) {
  const { value, failure } = useLoaded(() => api.expand(sessionId.peek(), messageId), [messageId]);
  if (!value) return <p class={failure ? 'failure' : 'quiet'}>{failure || 'Reading the log …'}</p>;
  const original = textOf(value.original);
  const current = value.current && textOf(value.current);
  return (
    <div class="removed-versions stack">
      <CodeBlock label="In the log" text={original} figure={size(original.length)} />
      {current !== undefined && (
        <CodeBlock label="The model sees" text={current} figure={size(current.length)} />
      )}
      {current === undefined && stub !== undefined && (
        <CodeBlock label="Right after this" text={stub} figure={size(stub.length)} />
      )}
      {current === undefined && (
        <p class="quiet">
          {stub !== undefined && 'A later compaction removed that as well. '}
          The model sees only what the summary says about it.
        </p>
      )}
    </div>
  );
}

/** What a message is, in one line: its text, or the call that it makes or answers. */
function faceOf(message: Message) {
  const block = message.content.find(({ type }) => type === 'tool_result' || type === 'tool_use');
  if (block?.type === 'tool_result') {
    const call = toolCalls.value.get(block.toolUseId);
    return [toolIcon(block.toolName), `${block.toolName} ${call ? firstArgument(call.input) : ''}`] as const;
  }
  const calls = message.content.flatMap((part) => (part.type === 'tool_use' ? [part.name] : []));
  const text = firstLine(said(message)) || `calls ${calls.join(', ')}`;
  return [message.role === 'user' ? User : Sparkle, text] as const;
}
