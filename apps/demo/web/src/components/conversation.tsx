import './conversation.css';
import { useSignal } from '@preact/signals';
import { ArrowDown } from 'lucide-preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { blocks, liveTurnBegins } from '../state/blocks.js';
import { pending, sessionId } from '../state/session.js';
import { Approval } from './approval.js';
import { BlockView } from './block-view.js';
import { Draft } from './draft.js';

/** How near to the end counts as being there. */
const NEAR = 48;

/** The turns. Follows what comes as long as one is at the end, and leaves one alone who reads further up. */
export function Conversation() {
  const scroll = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const away = useSignal(false);
  const id = sessionId.value;

  useLayoutEffect(() => {
    const [view, inner] = [scroll.current, content.current];
    if (!view || !inner) return;
    following.current = true;
    const toEnd = () => {
      if (following.current) view.scrollTop = view.scrollHeight;
    };
    const observer = new ResizeObserver(toEnd);
    observer.observe(inner);
    observer.observe(view);
    toEnd();
    return () => observer.disconnect();
  }, [id]);

  const onScroll = () => {
    const view = scroll.current;
    if (!view) return;
    following.current = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR;
    away.value = !following.current;
  };
  // What one opens should stay where it is, not run off with the end.
  const onClick = (event: MouseEvent) => {
    if ((event.target as Element).closest('[data-fold]')) following.current = false;
  };

  return (
    <div class="conversation-view">
      <div class="conversation-scroll" ref={scroll} onScroll={onScroll}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: listens to the buttons within. */}
        <div class="conversation-content" ref={content} onClick={onClick}>
          {blocks.value.map((block) => (
            <BlockView key={block.id} block={block} />
          ))}
          {pending.value.map((waiting) => (
            <Approval key={waiting.id} call={waiting} />
          ))}
          {liveTurnBegins.value && (
            <div class="block agent-turn" aria-busy="true">
              <Draft />
            </div>
          )}
        </div>
      </div>
      {away.value && (
        <button
          type="button"
          class="button conversation-latest"
          onClick={() => {
            following.current = true;
            scroll.current?.scrollTo({ top: scroll.current.scrollHeight });
          }}
        >
          <ArrowDown size={16} /> Latest
        </button>
      )}
    </div>
  );
}
