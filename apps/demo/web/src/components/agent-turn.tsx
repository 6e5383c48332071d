import './agent-turn.css';
import { useComputed } from '@preact/signals';
import type { Message } from '@x/core';
import { liveTurnId } from '../state/blocks.js';
import { fates } from '../state/session.js';
import { Draft } from './draft.js';
import { FateTag } from './fate-tag.js';
import { Markdown } from './markdown.js';
import { ReplyFigures } from './reply-figures.js';
import { Thought } from './thought.js';
import { ToolCall } from './tool-call.js';

/** What the agent did and said between two things that the user said. */
export function AgentTurn({ messages }: { readonly messages: readonly Message[] }) {
  const ids = messages.map((message) => message.id);
  const live = useComputed(() => liveTurnId.value === ids[0]).value;
  const last = useComputed(() => fates.value[ids.at(-1) ?? '']);
  return (
    <article
      class="block agent-turn"
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
      {live ? (
        <Draft />
      ) : (
        <footer class="agent-foot">
          <ReplyFigures messageIds={ids} />
          {last.value && <FateTag fate={last.value} />}
        </footer>
      )}
    </article>
  );
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
