import './compaction.css';
import { useComputed, useSignal } from '@preact/signals';
import type { CompactionStep, ManifestEntry, Message } from '@x/core';
import { NotebookText, Shrink, Sparkle, TriangleAlert, Undo2, User } from 'lucide-preact';
import { useEffect } from 'preact/hooks';
import type { ExpandedMessage } from '../../../src/server/backend.js';
import { firstLine, textOf } from '../../../src/server/message-text.js';
import type { CompactionRecord } from '../../../src/server/transcript.js';
import { compactionTitle, fatesInWords, reasons } from '../lib/compaction-words.js';
import { duration, exactCount, plural, shortCount, size } from '../lib/format.js';
import { firstArgument, toolIcon } from '../lib/tool-face.js';
import { ApiError, api } from '../state/api.js';
import { lastApplied, messagesById, toolCalls } from '../state/blocks.js';
import { busy, sessionId, undo } from '../state/session.js';
import { Button } from './button.js';
import { CodeBlock } from './code-block.js';
import { Fold } from './fold.js';
import { Markdown } from './markdown.js';

/** A compaction as a line across the conversation that one can open. Bad outcomes show too, in words. */
export function CompactionDivider({ compaction }: { readonly compaction: CompactionRecord }) {
  const applied = compaction.status === 'applied';
  const Icon = applied ? Shrink : TriangleAlert;
  const { head, messages, tokens } = compactionTitle(compaction);
  const line = (
    <span class="compaction-line row">
      <Icon size={16} aria-hidden="true" />
      <span>
        <strong>{head}</strong>
        {messages && ` · ${messages}`}
        {/* Messages say it already where there is little room. */}
        {tokens && <span class={messages && 'compaction-tokens'}> · {tokens}</span>}
      </span>
    </span>
  );
  return (
    <article
      class={`block compaction${applied && !compaction.undone ? '' : ' compaction-void'}`}
      id={compaction.id}
      data-turn
      tabIndex={-1}
      aria-label={head}
    >
      <Fold id={compaction.id} line={line}>
        {() => <CompactionDetails compaction={compaction} />}
      </Fold>
    </article>
  );
}

/** How a compaction came about, step by step, and what it took away. */
function CompactionDetails({ compaction }: { readonly compaction: CompactionRecord }) {
  const { status, detail, reason, durationMs, steps, manifest, summary, undone, usage } = compaction;
  const canUndo = lastApplied.value?.id === compaction.id;
  return (
    <div class="compaction-details card stack small">
      {manifest.length > 0 && !undone && <RemovedList compaction={compaction} />}
      <dl class="compaction-facts stack">
        <div>
          <dt>Why</dt>
          <dd>{reasons[reason]}</dd>
        </div>
        <div>
          <dt>Outcome</dt>
          <dd>
            {undone ? 'undone' : status} · {detail}
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>{duration(durationMs)}</dd>
        </div>
      </dl>
      {steps.length > 0 && <CompactionSteps steps={steps} />}
      {summary && !undone && (
        <Fold
          id={`${compaction.id}-summary`}
          line={
            <span class="heading grow">
              What stands in their place: {usage ? 'the summary' : 'a record made by rules'}
            </span>
          }
        >
          {() => (
            <div class="compaction-summary">
              {usage ? <Markdown text={withoutTags(summary)} /> : <pre>{withoutTags(summary)}</pre>}
            </div>
          )}
        </Fold>
      )}
      {canUndo && (
        <Button disabled={busy.value} onClick={() => void undo(compaction.id)}>
          <Undo2 size={16} /> Undo this compaction
        </Button>
      )}
    </div>
  );
}

function withoutTags(summary: string): string {
  return summary.replace(/\[\/?CONVERSATION_SUMMARY\]\n?/g, '');
}

/** The reducers that ran, in order, with messages and tokens before and after. */
function CompactionSteps({ steps }: { readonly steps: readonly CompactionStep[] }) {
  const acted = steps.filter(
    (step) => step.tokensAfter !== step.tokensBefore || step.messagesAfter !== step.messagesBefore,
  );
  const idle = steps.filter((step) => !acted.includes(step));
  const most = Math.max(...steps.map((step) => step.tokensBefore), 1);
  if (acted.length === 0) return <Idle steps={idle} />;
  return (
    <div class="steps">
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Messages</th>
            <th scope="col">Tokens</th>
            <th scope="col">
              <span class="visually-hidden">Share</span>
            </th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {acted.map((step, index) => (
            <tr key={index}>
              <th scope="row">
                {stepName(step)}
                {step.note && <small>{step.note}</small>}
              </th>
              <td>
                {exactCount(step.messagesBefore)} → {exactCount(step.messagesAfter)}
              </td>
              <td title={`${exactCount(step.tokensBefore)} → ${exactCount(step.tokensAfter)} tokens`}>
                {shortCount(step.tokensBefore)} → {shortCount(step.tokensAfter)}
              </td>
              <td class="bar">
                <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                  <rect class="whole" width={(step.tokensBefore / most) * 100} height="8" />
                  <rect width={(step.tokensAfter / most) * 100} height="8" />
                </svg>
              </td>
              <td>{duration(step.durationMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Idle steps={idle} />
    </div>
  );
}

/** A step's name in words. */
function stepName({ reducer }: CompactionStep): string {
  return reducer.replaceAll('_', ' ');
}

/** Steps that changed nothing, in one line. */
function Idle({ steps }: { readonly steps: readonly CompactionStep[] }) {
  if (steps.length === 0) return null;
  const names = steps.map((step) => `${stepName(step)}${step.note ? `: ${step.note}` : ''}`).join('\n');
  return (
    <p class="quiet" title={names}>
      {plural(steps.length, 'cheaper step')} had nothing to do
    </p>
  );
}

/** How many are shown at first. */
const FIRST = 8;

/** What the model no longer sees as it was, message by message. */
function RemovedList({ compaction }: { readonly compaction: CompactionRecord }) {
  const all = useSignal(false);
  const manifest = useComputed(() => inLogOrder(compaction.manifest)).value;
  const shown = all.value ? manifest : manifest.slice(0, FIRST);
  return (
    <section>
      <h2 class="removed-heading heading">
        What the model no longer sees <span class="quiet small">{fatesInWords(manifest)}</span>
      </h2>
      <ul>
        {shown.map((entry) => (
          <li key={entry.messageId}>
            <RemovedItem
              entry={entry}
              compactionId={compaction.id}
              stub={compaction.stubs?.[entry.messageId]}
            />
          </li>
        ))}
      </ul>
      {shown.length < manifest.length && (
        <Button
          onClick={() => {
            all.value = true;
          }}
        >
          Show all {manifest.length}
        </Button>
      )}
    </section>
  );
}

/** As people remember it: oldest first. */
function inLogOrder(manifest: readonly ManifestEntry[]): readonly ManifestEntry[] {
  const places = new Map([...messagesById.value.keys()].map((id, index) => [id, index]));
  return [...manifest].sort(
    (left, right) => (places.get(left.messageId) ?? -1) - (places.get(right.messageId) ?? -1),
  );
}

interface RemovedItemProps {
  readonly entry: ManifestEntry;
  readonly compactionId: string;
  /** What the model saw in its place right after the compaction, where it stayed. */
  readonly stub: string | undefined;
}

/** A message that a compaction removed or altered; opened, the original from the log and what the model sees instead. */
function RemovedItem({ entry, compactionId, stub }: RemovedItemProps) {
  const message = useComputed(() => messagesById.value.get(entry.messageId)).value;
  // What is not in the log was written by a compaction: the summary of an earlier one.
  if (!message) {
    return (
      <div class="removed-item removed-summary row">
        <NotebookText size={16} aria-hidden="true" class="quiet" />
        <span class="clip">The summary of an earlier compaction</span>
        <span class="quiet label">{entry.fate}</span>
      </div>
    );
  }
  const Icon = iconOf(message);
  const line = (
    <>
      <Icon size={16} aria-hidden="true" class="quiet" />
      <span class="clip">{nameOf(message)}</span>
      <span class="quiet label">{entry.fate}</span>
      <span class="figure">{size(textOf(message).length)}</span>
    </>
  );
  return (
    <Fold id={`${compactionId}-${entry.messageId}`} class="removed-item" line={line}>
      {() => <Original messageId={entry.messageId} stub={stub} />}
    </Fold>
  );
}

function Original({ messageId, stub }: { readonly messageId: string; readonly stub: string | undefined }) {
  const expanded = useSignal<ExpandedMessage | undefined>(undefined);
  const failure = useSignal('');
  useEffect(() => {
    api
      .expand(sessionId.peek(), messageId)
      .then((answer) => {
        expanded.value = answer;
      })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        failure.value = error.message;
      });
  }, [messageId, expanded, failure]);

  if (failure.value) return <p class="failure">{failure.value}</p>;
  if (!expanded.value) return <p class="quiet">Reading the log …</p>;
  const { original, current } = expanded.value;
  return (
    <div class="removed-versions">
      <CodeBlock label="In the log" text={textOf(original)} figure={size(textOf(original).length)} />
      {current ? (
        <CodeBlock label="The model sees" text={textOf(current)} figure={size(textOf(current).length)} />
      ) : (
        stub !== undefined && <CodeBlock label="Right after this" text={stub} figure={size(stub.length)} />
      )}
      {!current && (
        <p class="removed-gone quiet">
          {stub === undefined ? '' : 'A later compaction took that away, too. '}
          The model sees nothing of it but what the summary says.
        </p>
      )}
    </div>
  );
}

/** What the message is, in one line: what was said, or which call it answers. */
function nameOf(message: Message): string {
  const block = message.content.find(({ type }) => type === 'tool_result' || type === 'tool_use');
  if (block?.type === 'tool_result') {
    const call = toolCalls.value.get(block.toolUseId);
    return `${block.toolName} ${call ? firstArgument(call.input) : ''}`;
  }
  const said = message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  if (said.trim() || block?.type !== 'tool_use') return firstLine(said);
  return `calls ${message.content.flatMap((part) => (part.type === 'tool_use' ? [part.name] : [])).join(', ')}`;
}

function iconOf(message: Message) {
  if (message.role === 'user') return User;
  const [block] = message.content;
  if (block?.type === 'tool_result') return toolIcon(block.toolName);
  return Sparkle;
}
