import './user-turn.css';
import { useComputed } from '@preact/signals';
import type { Message } from '@x/core';
import { textOf } from '../lib/message-text.js';
import { fates } from '../state/session.js';
import { FateTag } from './fate-tag.js';

/** What the user said. What a harness injected looks quieter. */
export function UserTurn({ message }: { readonly message: Message }) {
  const fate = useComputed(() => fates.value[message.id]);
  const injected = message.kind === 'synthetic';
  return (
    <article
      class={`block user-turn${injected ? ' user-turn-injected' : ''}`}
      data-turn
      data-messages={message.id}
      data-gone={fate.value !== undefined}
      tabIndex={-1}
      aria-label={injected ? 'Injected' : 'You'}
    >
      <p>{textOf(message)}</p>
      {fate.value && <FateTag fate={fate.value} />}
    </article>
  );
}
