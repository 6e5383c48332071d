import { useSignal } from '@preact/signals';
import { savingsInWords } from '@x/harness/view';
import { CircleAlert, LoaderCircle, PanelRight, Unplug, X } from 'lucide-preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { changeInWords } from '../../../../cli/src/terminal/compaction-words.js';
import { textOf } from '../../../src/page.js';
import { plural, share, shortCount } from '../lib/format.js';
import { liveTurnBegins } from '../state/blocks.js';
import { say } from '../state/commands.js';
import {
  blocks,
  busy,
  call,
  compacting,
  connected,
  context,
  info,
  lastApplied,
  openSession,
  pending,
  phase,
  problem,
  queued,
  sessionId,
  title,
  transcript,
  windowSize,
} from '../state/session.js';
import { goToEnd, showSavings } from '../state/show-message.js';
import { type Block, isStanding } from '../state/transcript.js';
import {
  followEnd,
  following,
  goToNew,
  holds,
  isOpen,
  sheetOpen,
  showsPanel,
  togglePanel,
} from '../state/view.js';
import { Approval, ApproveAll } from './approval.js';
import { EarlierCompactions, headOf } from './compaction.js';
import { Composer } from './composer.js';
import { GaugeBar, whatIsNext } from './gauge.js';
import { Button, Header, IconButton } from './parts.js';
import { BlockView, Draft } from './turns.js';

/** The middle column: the conversation and the input. */
export function ConversationColumn() {
  const hidden = !showsPanel.value;
  const full = hidden && context.value ? share(context.value.total, windowSize.value) : '';
  return (
    <main class="column">
      <Header title={title.value || (phase.value === 'failed' ? 'No conversation' : 'New conversation')}>
        <WorkStatus />
        <IconButton
          label={full ? `Context panel, ${full}` : 'Context panel'}
          aria-pressed={!hidden}
          title="Context (c)"
          onClick={() => togglePanel()}
          icon={PanelRight}
        >
          {full && <span>{full}</span>}
        </IconButton>
      </Header>
      {hidden && context.value && (
        <button
          type="button"
          class="conversation-gauge"
          aria-label="What fills the window"
          onClick={() => (sheetOpen.value = true)}
        >
          <GaugeBar thin />
        </button>
      )}
      <Worth />
      {phase.value === 'new' && <EmptyState />}
      {phase.value === 'loading' && <div class="scrolls" aria-busy="true" />}
      {phase.value === 'failed' && <MissingState />}
      {phase.value === 'ready' && <Conversation />}
      <div class="conversation-foot stack">
        {problem.value && phase.value !== 'failed' && (
          <div class="card row small pad" role="alert">
            <CircleAlert class="failure" size={16} aria-hidden="true" />
            <p class="grow">{problem.value.message}</p>
            <IconButton label="Dismiss" onClick={() => (problem.value = undefined)} icon={X} />
          </div>
        )}
        <Composer />
      </div>
    </main>
  );
}

/** A block of the conversation. The last compaction is shown in place; earlier ones are marks, and are listed in one line above it. */
function BlockOrMark({ block }: { readonly block: Block }) {
  if (block.type !== 'compaction') return <BlockView block={block} />;
  const { id, compaction } = block;
  if (id === transcript.value.compactions.at(-1)?.id)
    return (
      <>
        <EarlierCompactions />
        <BlockView block={block} />
      </>
    );
  if (isOpen(`${id}-place`)) return <BlockView block={block} />;
  const words = isStanding(compaction) ? `Compacted here: ${changeInWords(compaction)}` : headOf(compaction);
  return <p class="compacted-here accent label">{words}</p>;
}

/** Pixels from the end within which the view counts as being at the end. */
const NEAR = 48;
/** Number of blocks drawn per frame. In a long conversation, the last blocks are drawn first. */
const AT_ONCE = 24;

/** Returns the blocks that are drawn so far: in the end, all of them. */
function useDrawn(id: string): readonly Block[] {
  const all = blocks.value;
  const drawn = useSignal({ id, count: AT_ONCE });
  const count = drawn.value.id === id ? drawn.value.count : AT_ONCE;
  useEffect(() => {
    if (count >= all.length) return;
    const frame = requestAnimationFrame(() => (drawn.value = { id, count: count + AT_ONCE }));
    return () => cancelAnimationFrame(frame);
  }, [id, count, all.length]);
  return all.slice(-count);
}

/** The turns. The view follows new content at the end, unless the user has scrolled up. */
function Conversation() {
  // Long because it follows how the user scrolls.
  const scroll = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const id = sessionId.value;
  const drawn = useDrawn(id);

  useLayoutEffect(() => {
    const [view, inner] = [scroll.current, content.current];
    if (!view || !inner) return;
    followEnd();
    inner.querySelector<HTMLElement>('.approval')?.focus({ preventScroll: true });
    const observer = new ResizeObserver(() => {
      if (!following.peek()) return;
      view.scrollTop = view.scrollHeight;
      top.current = view.scrollTop;
    });
    observer.observe(inner);
    observer.observe(view);
    return () => observer.disconnect();
  }, [id]);

  const onScroll = () => {
    const view = scroll.current;
    if (!view) return;
    const near = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR;
    // New content may not be scrolled to yet, so only upward scrolling stops following.
    following.value = (near && !holds.peek()) || (following.peek() && view.scrollTop >= top.current);
    top.current = view.scrollTop;
  };
  const release = () => {
    holds.value = false;
  };
  // Something that the user opens should stay in place.
  const onClick = (event: MouseEvent) => {
    if ((event.target as Element).closest('[data-fold]')) following.value = false;
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: listens to how the user scrolls.
    <div
      class="conversation-scroll scrolls"
      ref={scroll}
      onScroll={onScroll}
      onWheel={release}
      onTouchMove={release}
      onPointerDown={release}
      onKeyDown={release}
    >
      {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: listens to the buttons within. */}
      <div class="conversation-content" ref={content} onClick={onClick}>
        {drawn.map((block) => (
          <BlockOrMark key={block.id} block={block} />
        ))}
        <ApproveAll />
        {pending.value.map((waiting) => (
          <Approval key={waiting.id} call={waiting} />
        ))}
        {liveTurnBegins.value && (
          <div class="block agent-turn stack" aria-busy="true">
            <Draft />
          </div>
        )}
        {queued.value.map((message) => (
          <article key={message.id} class="block user-turn row pad-wide" aria-label="You, queued">
            <p class="grow">{textOf(message)}</p>
            <span class="quiet label">Sent. The agent reads it at its next step.</span>
          </article>
        ))}
        <section class="conversation-end" tabIndex={-1} aria-label="End of the conversation" />
      </div>
    </div>
  );
}

/** The savings of compaction in this conversation so far or, if the window is too full, what happens next, with a link to how they are counted. */
function Worth() {
  const { savings } = transcript.value;
  if (phase.value !== 'ready' || savings.requests === 0) return null;
  const words = lastApplied.value
    ? `Compacted, from the next request on: ${changeInWords(lastApplied.value)}.`
    : `Not compacted: ${shortCount(savings.sent)} tokens in ${plural(savings.requests, 'request')}.`;
  const total = context.value?.total ?? 0;
  const isOver = total > windowSize.value && !busy.value;
  return (
    <button type="button" class="worth small" title="How this is counted" onClick={showSavings}>
      {isOver ? whatIsNext(total, windowSize.value)[1] : savingsInWords(savings) || words}
    </button>
  );
}

const ASKING = 'write ideas.md: look at the stores first';

/** The introduction and suggestions for an empty conversation. */
function EmptyState() {
  const backend = info.value;
  const starting = (words: string) => ({
    disabled: busy.value || !backend,
    onClick: () => void say(words).then((isAccepted) => isAccepted && goToEnd()),
  });
  return (
    <div class="conversation-scroll scrolls centered">
      <div class="stack empty">
        <h2>
          Agents that run for hours in a {backend ? shortCount(backend.contextWindow) : 'small'} window.
        </h2>
        <p class="quiet">Press, and watch.</p>
        <Button class="button-main" {...starting('Survey this repository')}>
          Survey this repository
        </Button>
        <button type="button" class="link small" {...starting(ASKING)}>
          Let it write a file, and be asked first
        </button>
        {!backend && <p class="quiet small">Waiting for the server …</p>}
      </div>
    </div>
  );
}

/** Replaces a conversation that could not be loaded. */
function MissingState() {
  const gone = problem.value?.code === 'session_not_found';
  return (
    <div class="scrolls centered missing">
      <div class="stack">
        <h2>{gone ? 'There is no such conversation' : 'The conversation could not be loaded'}</h2>
        <p class="quiet small">{problem.value?.message}</p>
        <div class="row">
          {!gone && <Button onClick={() => openSession(sessionId.peek())}>Try again</Button>}
          <Button onClick={goToNew}>New conversation</Button>
        </div>
      </div>
    </div>
  );
}

/** Shows that the agent is working, or that the connection to the server is lost. */
function WorkStatus() {
  const lost = phase.value === 'ready' && !connected.value;
  const words = compacting.value ? 'Compacting' : call.value ? 'Working' : '';
  if (!lost && !words) return null;
  const Icon = lost ? Unplug : LoaderCircle;
  return (
    <span class={`row small ${lost ? 'warn' : 'quiet'}`} role="status">
      <Icon class={lost ? '' : 'spin'} size={16} aria-hidden="true" />
      <span>{lost ? 'Reconnecting' : words}</span>
    </span>
  );
}
