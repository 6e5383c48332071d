import './removed-item.css';
import { useComputed, useSignal } from '@preact/signals';
import type { ManifestEntry, Message } from '@x/core';
import { NotebookText, Sparkle, User } from 'lucide-preact';
import { useEffect } from 'preact/hooks';
import type { ExpandedMessage } from '../../../src/server/backend.js';
import { size } from '../lib/format.js';
import { firstLine, textOf } from '../lib/message-text.js';
import { firstArgument, toolIcon } from '../lib/tool-face.js';
import { ApiError, api } from '../state/api.js';
import { messagesById, toolCalls } from '../state/messages-by-id.js';
import { sessionId } from '../state/session.js';
import { CodeBlock } from './code-block.js';
import { Fold } from './fold.js';

interface RemovedItemProps {
  readonly entry: ManifestEntry;
  readonly compactionId: string;
  /** What the model saw in its place right after the compaction, where it stayed. */
  readonly stub: string | undefined;
}

/** A message that a compaction removed or altered; opened, the original from the log and what the model sees instead. */
export function RemovedItem({ entry, compactionId, stub }: RemovedItemProps) {
  const message = useComputed(() => messagesById.value.get(entry.messageId)).value;
  // What is not in the log was written by a compaction: the summary of an earlier one.
  if (!message) {
    return (
      <div class="removed-item removed-summary">
        <NotebookText size={16} aria-hidden="true" class="removed-icon" />
        <span class="removed-text">The summary of an earlier compaction</span>
        <span class="removed-fate">{entry.fate}</span>
      </div>
    );
  }
  const Icon = iconOf(message);
  const line = (
    <>
      <Icon size={16} aria-hidden="true" class="removed-icon" />
      <span class="removed-text">{nameOf(message)}</span>
      <span class="removed-fate">{entry.fate}</span>
      <span class="removed-size">{size(textOf(message).length)}</span>
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

  if (failure.value) return <p class="removed-failure">{failure.value}</p>;
  if (!expanded.value) return <p class="removed-loading">Reading the log …</p>;
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
        <p class="removed-gone">
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
