import './turns.css';
import { useComputed } from '@preact/signals';
import type { Message } from '@x/core';
import { CircleAlert, Info, Lightbulb, TriangleAlert } from 'lucide-preact';
import { Component } from 'preact';
import { firstLine, textOf } from '../../../src/server/message-text.js';
import type { Entry, Notice } from '../../../src/server/transcript.js';
import { costOf, duration, exactCount, money, plural, share, shortCount } from '../lib/format.js';
import { type Block, lastQuestion, liveTurnId, wholeReplies } from '../state/blocks.js';
import { info } from '../state/info.js';
import { call, compacting, draftText, entries, fates, replies } from '../state/session.js';
import { Button } from './button.js';
import { CompactionDivider } from './compaction.js';
import { Fold } from './fold.js';
import { Markdown } from './markdown.js';
import { FateTag, ToolCall } from './tool-call.js';

interface BlockViewProps {
  readonly block: Block;
}

/** One block of the conversation, drawn again only when it changed. */
export class BlockView extends Component<BlockViewProps> {
  override shouldComponentUpdate(next: BlockViewProps): boolean {
    return next.block !== this.props.block;
  }

  override render({ block }: BlockViewProps) {
    switch (block.type) {
      case 'user':
        return <UserTurn message={block.message} />;
      case 'agent':
        return <AgentTurn messages={block.messages} />;
      case 'compaction':
        return <CompactionDivider compaction={block.compaction} />;
      case 'notice':
        return <NoticeView notice={block.notice} />;
    }
  }
}

/** What the user said. What a harness injected looks quieter. */
function UserTurn({ message }: { readonly message: Message }) {
  const fate = useComputed(() => fates.value[message.id]);
  const injected = message.kind === 'synthetic';
  return (
    <article
      class={`block user-turn${injected ? ' user-turn-injected small' : ''}`}
      data-turn
      data-messages={message.id}
      data-gone={fate.value !== undefined}
      tabIndex={-1}
      aria-label={injected ? 'Injected' : 'You'}
    >
      <p class="grow">{textOf(message)}</p>
      {fate.value && <FateTag fate={fate.value} />}
    </article>
  );
}

/** What the agent did and said between two things that the user said. */
function AgentTurn({ messages }: { readonly messages: readonly Message[] }) {
  const ids = messages.map((message) => message.id);
  const live = useComputed(() => liveTurnId.value === ids[0]).value;
  const last = useComputed(() => fates.value[ids.at(-1) ?? '']);
  return (
    <article
      class="block agent-turn stack"
      data-turn
      data-messages={ids.join(' ')}
      data-gone={last.value !== undefined}
      tabIndex={-1}
      aria-label="Agent"
      aria-busy={live}
    >
      {messages.map((message) => (
        <AgentMessage key={message.id} message={message} />
      ))}
      {!live && isEmpty(messages.at(-1)) && (
        <p class="quiet small">The answer is empty: the model ended without a word.</p>
      )}
      {live ? (
        <Draft />
      ) : (
        <footer class="agent-foot row quiet label">
          <ReplyFigures turnId={ids[0] ?? ''} />
          {last.value && <FateTag fate={last.value} />}
        </footer>
      )}
    </article>
  );
}

function isEmpty(message: Message | undefined): boolean {
  return message?.content.every((block) => block.type === 'text' && block.text.trim() === '') ?? false;
}

function AgentMessage({ message }: { readonly message: Message }) {
  const gone = useComputed(() => fates.value[message.id] !== undefined).value;
  return (
    <>
      {message.content.map((block, index) => {
        const key = `${message.id}-${index}`;
        if (block.type === 'thinking') return <Thought key={key} id={key} text={block.thinking} />;
        if (block.type === 'text') return <Markdown key={key} text={block.text} />;
        if (block.type === 'tool_use') return <ToolCall key={key} call={block} gone={gone} />;
        return null;
      })}
    </>
  );
}

/** What the model is saying right now, in the very place where it will stand, and a line where its figures will. */
export function Draft() {
  const text = useComputed(() => call.value?.text ?? '').value;
  const thinking = useComputed(() => call.value?.thinking ?? '').value;
  return (
    <>
      {thinking && <Thought id="draft-thought" text={thinking} />}
      {text && <Markdown text={text} />}
      <footer class="agent-foot row quiet label">
        <DraftStatus />
      </footer>
    </>
  );
}

function DraftStatus() {
  if (compacting.value) return <span>Compacting {compacting.value.messagesBefore} messages …</span>;
  const running = call.value;
  if (!running) return null;
  const { retry, step } = running;
  if (retry) {
    return (
      <span>
        Attempt {retry.attempt} failed: {retry.error} Trying again …
      </span>
    );
  }
  return <span>{step === 0 ? 'Starting …' : `Step ${step} …`}</span>;
}

/** What the model thought, folded. */
function Thought({ id, text }: { readonly id: string; readonly text: string }) {
  const line = (
    <>
      <Lightbulb size={16} aria-hidden="true" />
      <span class="clip">{firstLine(text)}</span>
    </>
  );
  return (
    <Fold id={id} class="quiet" line={line}>
      {() => <p class="thought-text small">{text}</p>}
    </Fold>
  );
}

/** What a whole reply took, under its last turn: calls, tokens in and out, the cached share, time, and cost where prices are known. */
function ReplyFigures({ turnId }: { readonly turnId: string }) {
  const words = useComputed(() => replyInWords(wholeReplies.value.get(turnId) ?? [])).value;
  const [text, exact] = words.split('\n');
  return text ? (
    <span class="reply-figures" title={exact}>
      {text}
    </span>
  ) : null;
}

/** Two lines, rounded and exact: one text, which draws nothing anew while it stays the same. Empty without a model call. */
function replyInWords(messageIds: readonly string[]): string {
  const figures = messageIds.flatMap((id) => replies.value[id] ?? []);
  if (figures.length === 0) return '';
  const sum = (pick: (figure: (typeof figures)[number]) => number | undefined) =>
    figures.reduce((total, figure) => total + (pick(figure) ?? 0), 0);
  const input = sum(({ usage }) => usage?.inputTokens);
  const cached = sum(({ usage }) => usage?.cachedInputTokens);
  const output = sum(({ usage }) => usage?.outputTokens);
  const prices = info.value?.model.prices;
  const parts = [
    figures.length > 1 && plural(figures.length, 'model call'),
    `${shortCount(input)} in${cached > 0 ? ` (${share(cached, input)} cached)` : ''}`,
    `${shortCount(output)} out`,
    `${duration(sum(({ durationMs }) => durationMs))} of model time`,
    prices && money(costOf({ inputTokens: input, outputTokens: output, cachedInputTokens: cached }, prices)),
  ].filter(Boolean);
  const exact = `${exactCount(input)} tokens in, ${exactCount(cached)} of them cached, ${exactCount(output)} out; the time is that of the model, without tools`;
  return `${parts.join(' · ')}\n${exact}`;
}

const icons = { error: CircleAlert, warning: TriangleAlert, info: Info };

/** Something that happened beside the messages: an error says what happened, what is safe, and what to do. */
function NoticeView({ notice }: { readonly notice: Notice }) {
  const Icon = icons[notice.level];
  const failed = notice.level === 'error';
  const latest = useComputed(() => isNotice(entries.value.at(-1), notice)).value;
  return (
    <div
      class={`block notice small ${failed ? 'notice-error' : 'quiet'}`}
      data-turn={failed ? '' : undefined}
      tabIndex={failed ? -1 : undefined}
      role={failed ? 'alert' : undefined}
    >
      <Icon
        size={16}
        aria-hidden="true"
        class={{ error: 'failure', warning: 'warn', info: '' }[notice.level]}
      />
      <div class="notice-words stack grow">
        {failed && <strong class="failure">The call failed</strong>}
        <p>{notice.message}</p>
        {failed && (
          <p class="quiet">
            Nothing is lost: the conversation up to here is stored. <code>{notice.code}</code>
          </p>
        )}
        {failed && latest && lastQuestion.value && (
          <Button
            onClick={() => {
              draftText.value = lastQuestion.value;
              document.querySelector<HTMLElement>('.composer textarea')?.focus();
            }}
          >
            Edit and send again
          </Button>
        )}
      </div>
    </div>
  );
}

function isNotice(entry: Entry | undefined, notice: Notice): boolean {
  return entry?.type === 'notice' && entry.notice === notice;
}
