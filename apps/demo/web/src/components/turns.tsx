import { useComputed } from '@preact/signals';
import type { Message } from '@x/core';
import { CircleAlert, Info, Lightbulb, Pin, Shrink, TriangleAlert } from 'lucide-preact';
import { useMemo } from 'preact/hooks';
import { inOneLine, KEY_REFUSED, textOf } from '../../../src/page.js';
import { lastQuestion, liveTurnId, replyInWords, wholeReplies } from '../state/blocks.js';
import { blocks, busy, call, compact, compacting, draft, draftText, fates, pins } from '../state/session.js';
import { goToEnd, togglePin } from '../state/show-message.js';
import type { Block, Notice } from '../state/transcript.js';
import { inspect } from '../state/view.js';
import { CompactionDivider } from './compaction.js';
import { Markdown } from './markdown.js';
import { Button, Fold, IconButton } from './parts.js';
import { FateTag, ToolCall } from './tool-call.js';

/** One block of the conversation. It is redrawn only if it has changed. */
export function BlockView({ block }: { readonly block: Block }) {
  return useMemo(() => draw(block), [versionOf(block)]);
}

function draw(block: Block) {
  if (block.type === 'user') return <UserTurn message={block.message} />;
  if (block.type === 'agent') return <AgentTurn messages={block.messages} />;
  if (block.type === 'notice') return <NoticeView id={block.id} notice={block.notice} />;
  return <CompactionDivider compaction={block.compaction} />;
}

/** Returns a text that changes with what a block shows. Messages are only added at the end. */
function versionOf(block: Block): string {
  if (block.type === 'agent') return `${block.id} ${block.messages.length}`;
  if (block.type === 'notice') return `${block.id} ${block.notice.count}`;
  if (block.type !== 'compaction') return block.id;
  return `${block.id} ${block.compaction.undone}`;
}

/** A message of the user, or one that a harness injected. */
function UserTurn({ message }: { readonly message: Message }) {
  const fate = useComputed(() => fates.value.get(message.id)).value;
  const isPinned = useComputed(() => pins.value.has(message.id)).value;
  const injected = message.kind === 'synthetic';
  return (
    <article
      class={`block user-turn row pad-wide${injected ? ' user-turn-injected small' : ''}`}
      data-turn
      data-messages={message.id}
      data-gone={fate !== undefined}
      tabIndex={-1}
      aria-label={injected ? 'Injected' : 'You'}
    >
      <p class="grow">{textOf(message)}</p>
      {fate && <FateTag fate={fate} />}
      {!injected && (
        <IconButton
          label={isPinned ? 'Pinned: stays word for word' : 'Pin: keep this word for word'}
          aria-pressed={isPinned}
          icon={Pin}
          onClick={() => togglePin(message.id)}
        />
      )}
      {!injected && !fate && <CompactUpTo messageId={message.id} />}
    </article>
  );
}

/** Compacts everything up to a message, after asking, and shows the result at the end of the conversation. */
function CompactUpTo({ messageId }: { readonly messageId: string }) {
  const onClick = () => {
    if (!confirm('Shorten everything up to this message? You can undo it.')) return;
    goToEnd();
    void compact({ upTo: messageId });
  };
  return (
    <IconButton label="Compact up to here" disabled={busy.value} onClick={onClick} icon={Shrink}>
      <span class="touch-only">Compact up to here</span>
    </IconButton>
  );
}

/** The agent's actions and answers between two messages of the user. */
function AgentTurn({ messages }: { readonly messages: readonly Message[] }) {
  const ids = messages.map((message) => message.id);
  const live = useComputed(() => liveTurnId.value === ids[0]).value;
  const fate = useComputed(() => fates.value.get(ids.at(-1) ?? '')).value;
  const isEmpty = messages
    .at(-1)
    ?.content.every((block) => block.type === 'text' && block.text.trim() === '');
  return (
    <article
      class="block agent-turn stack"
      data-turn
      data-messages={ids.join(' ')}
      data-gone={fate !== undefined}
      tabIndex={-1}
      aria-label="Agent"
      aria-busy={live}
    >
      {messages.map((message) => (
        <AgentMessage key={message.id} message={message} />
      ))}
      {!live && isEmpty && <p class="quiet small">The answer is empty: the model returned no text.</p>}
      {live ? (
        <Draft />
      ) : (
        <footer class="agent-foot row quiet label">
          <ReplyFigures turnId={ids[0] ?? ''} />
          {fate && <FateTag fate={fate} />}
        </footer>
      )}
    </article>
  );
}

function AgentMessage({ message }: { readonly message: Message }) {
  const gone = useComputed(() => fates.value.has(message.id)).value;
  return (
    <>
      {message.content.map((block, index) => {
        const key = `${message.id}-${index}`;
        if (block.type === 'thinking') return <Thought key={key} id={key} text={block.thinking} />;
        if (block.type === 'text') return <Markdown key={key} text={block.text} messageId={message.id} />;
        if (block.type === 'tool_use') return <ToolCall key={key} call={block} gone={gone} />;
        return null;
      })}
    </>
  );
}

/** The answer that the model is streaming, at its final position, with a placeholder for its figures. */
export function Draft() {
  const { text, thinking } = draft.value;
  const { step = 0, retry } = call.value ?? {};
  const words = compacting.value
    ? `Compacting ${compacting.value.messagesBefore} messages …`
    : retry
      ? `Attempt ${retry.attempt} failed: ${retry.error} Trying again …`
      : `${step === 0 ? 'Starting' : `Request ${step}`} …`;
  return (
    <>
      {thinking && <Thought id="draft-thought" text={thinking} />}
      {text && <Markdown text={text} />}
      <footer class="agent-foot row quiet label">{words}</footer>
    </>
  );
}

/** A thought of the model, collapsed. */
function Thought({ id, text }: { readonly id: string; readonly text: string }) {
  const line = (
    <>
      <Lightbulb size={16} aria-hidden="true" />
      <span class="clip">{inOneLine(text)}</span>
    </>
  );
  return (
    <Fold id={id} class="quiet" line={line}>
      {() => <p class="thought-text small">{text}</p>}
    </Fold>
  );
}

/** Duration and tokens of a whole reply, below its last turn. Links to its last request in the inspector. */
function ReplyFigures({ turnId }: { readonly turnId: string }) {
  // Computed as one text, so that nothing is redrawn while it stays the same.
  const words = useComputed(() => replyInWords(wholeReplies.value.get(turnId) ?? [])).value;
  const [text, exact, place] = words.split('\n');
  return text ? (
    <button type="button" class="link reply-figures" title={exact} onClick={() => inspect(Number(place))}>
      {text}
    </button>
  ) : null;
}

const faces = {
  error: [CircleAlert, 'failure'],
  warning: [TriangleAlert, 'warn'],
  info: [Info, ''],
} as const;

/** Headlines of failed calls, by error code. */
const failures: Readonly<Record<string, string | undefined>> = {
  model_error: 'The model failed',
  context_overflow: 'The request is too large for the model',
};

/** A notice between two messages. An error says what happened, what is safe, and what to do. */
function NoticeView({ id, notice }: { readonly id: string; readonly notice: Notice }) {
  const { level, code, message, count } = notice;
  const [Icon, color] = faces[level];
  const isLast = useComputed(() => blocks.value.at(-1)?.id === id).value;
  if (level !== 'error') {
    return (
      <p class="block notice row small quiet">
        <Icon size={16} aria-hidden="true" class={color} />
        <span class="grow">{count > 1 ? `${message} (${count} times)` : message}</span>
      </p>
    );
  }
  const isKeyRefused = message.startsWith(KEY_REFUSED);
  const editAgain = () => {
    draftText.value = lastQuestion.value;
    document.querySelector<HTMLElement>('.composer textarea')?.focus();
  };
  return (
    <div class="block notice notice-error row small pad-wide" data-turn tabIndex={-1} role="alert">
      <Icon size={16} aria-hidden="true" class={color} />
      <div class="stack grow">
        <strong class={color}>{isKeyRefused ? KEY_REFUSED : (failures[code] ?? 'The call failed')}</strong>
        <p>{isKeyRefused ? message.slice(KEY_REFUSED.length + 1) : message}</p>
        <p class="quiet">
          Nothing is lost: the conversation up to here is stored. <code>{code}</code>
        </p>
        {isLast && code === 'context_overflow' && <Button onClick={() => void compact({})}>Compact</Button>}
        {isLast && lastQuestion.value && <Button onClick={editAgain}>Edit and send again</Button>}
      </div>
    </div>
  );
}
