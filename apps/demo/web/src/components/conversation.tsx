import './conversation.css';
import {
  ArrowDown,
  ArrowRight,
  CircleAlert,
  FilePen,
  FolderSearch,
  LoaderCircle,
  MessageCircleQuestionMark,
  PanelRight,
  Rewind,
  Unplug,
  X,
} from 'lucide-preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { share } from '../lib/format.js';
import { blocks, drawWhole, isDrawnWhole, latestFrom, liveTurnBegins } from '../state/blocks.js';
import { say } from '../state/commands.js';
import { info, modelLine } from '../state/info.js';
import { goToNew } from '../state/route.js';
import {
  busy,
  call,
  compacting,
  connected,
  context,
  openSession,
  pending,
  phase,
  problem,
  sessionId,
  title,
  windowSize,
} from '../state/session.js';
import { following, sheetOpen, showsPanel, togglePanel } from '../state/view.js';
import { Approval, ApproveAll } from './approval.js';
import { Button, IconButton } from './button.js';
import { Composer } from './composer.js';
import { GaugeBar } from './gauge.js';
import { BlockView, Draft } from './turns.js';
import { DrawerButton } from './view-frame.js';

/** The middle: what was said, and where to say more. */
export function ConversationColumn() {
  return (
    <main class="column">
      <header class="column-header row">
        <DrawerButton />
        <h1 class="clip">{title.value || 'New conversation'}</h1>
        <WorkStatus />
        <PanelButton />
      </header>
      {!showsPanel.value && context.value && (
        <button
          type="button"
          class="conversation-gauge"
          aria-label="What fills the window"
          onClick={() => {
            sheetOpen.value = true;
          }}
        >
          <GaugeBar thin />
        </button>
      )}
      <Body />
      <div class="conversation-foot">
        <ProblemNote />
        <Composer />
      </div>
    </main>
  );
}

function Body() {
  switch (phase.value) {
    case 'new':
      return <EmptyState />;
    case 'failed':
      return <MissingState />;
    case 'loading':
      return <div class="conversation-scroll scrolls" aria-busy="true" />;
    case 'ready':
      return <Conversation />;
  }
}

/** How near to the end counts as being there. */
const NEAR = 48;

/** The turns. Follows what comes as long as one is at the end, and leaves one alone who reads further up. */
function Conversation() {
  const scroll = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const id = sessionId.value;
  // Once a session: what one reads should not go while the agent works.
  const latest = useMemo(() => latestFrom(blocks.peek()), [id]);
  const from = isDrawnWhole.value ? 0 : latest;

  useLayoutEffect(() => {
    const [view, inner] = [scroll.current, content.current];
    if (!view || !inner) return;
    following.value = true;
    const toEnd = () => {
      if (following.peek()) view.scrollTop = view.scrollHeight;
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
    const near = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR;
    // What was added since has not been scrolled to yet: only who goes up wants to stay there.
    following.value = near || (following.peek() && view.scrollTop >= top.current);
    top.current = view.scrollTop;
  };
  // What one opens should stay where it is, not run off with the end.
  const onClick = (event: MouseEvent) => {
    if ((event.target as Element).closest('[data-fold]')) following.value = false;
  };

  return (
    <div class="conversation-view">
      <div class="conversation-scroll scrolls" ref={scroll} onScroll={onScroll}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: listens to the buttons within. */}
        <div class="conversation-content" ref={content} onClick={onClick}>
          {from > 0 && <Button onClick={drawWhole}>Show what was said before</Button>}
          {blocks.value.slice(from).map((block) => (
            <BlockView key={block.id} block={block} />
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
        </div>
      </div>
      {!following.value && (
        <Button
          class="conversation-latest"
          onClick={() => {
            following.value = true;
            scroll.current?.scrollTo({ top: scroll.current.scrollHeight });
          }}
        >
          <ArrowDown size={16} /> Latest
        </Button>
      )}
    </div>
  );
}

const icons = {
  survey: FolderSearch,
  ask: MessageCircleQuestionMark,
  write: FilePen,
};

/** What there is to do before anything was said, and who will answer. */
function EmptyState() {
  const backend = info.value;
  return (
    <div class="conversation-scroll scrolls centered">
      <div class="stack">
        <h2>See what the model sees</h2>
        <p class="quiet small">
          What fills its window, what was removed to make room, and what that cost: on the side, while you
          talk.
        </p>
        <ul class="empty-starters">
          {backend?.starters.map((starter) => {
            const Icon = icons[starter.icon];
            return (
              <li key={starter.title}>
                <button
                  type="button"
                  class="row"
                  disabled={busy.value}
                  onClick={() => void say(starter.prompt)}
                >
                  <Icon size={16} aria-hidden="true" />
                  <span class="grow">
                    <strong>{starter.title}</strong>
                    <span>{starter.description}</span>
                  </span>
                  <ArrowRight size={16} aria-hidden="true" />
                </button>
              </li>
            );
          })}
          <li>
            <a class="row" href="#/replay">
              <Rewind size={16} aria-hidden="true" />
              <span class="grow">
                <strong>Replay a log of your own</strong>
                <span>What each way of compacting would have kept, sent and cost</span>
              </span>
              <ArrowRight size={16} aria-hidden="true" />
            </a>
          </li>
        </ul>
        {backend ? (
          <p class="empty-model quiet small">
            Answered by {modelLine.value}
            <br />
            Storage: <code>{backend.storage}</code>
          </p>
        ) : (
          <p class="empty-model quiet small">Waiting for the server …</p>
        )}
      </div>
    </div>
  );
}

/** Instead of a conversation that could not be loaded. */
function MissingState() {
  const gone = problem.value?.code === 'session_not_found';
  return (
    <div class="conversation-scroll scrolls centered missing">
      <div class="stack">
        <h2>{gone ? 'There is no such conversation' : 'The conversation could not be loaded'}</h2>
        <p class="quiet small">{problem.value?.message}</p>
        <div class="row">
          {!gone && <Button onClick={() => void openSession(sessionId.peek())}>Try again</Button>}
          <Button onClick={goToNew}>New conversation</Button>
        </div>
      </div>
    </div>
  );
}

/** Why something that was just asked for did not happen; what was written stays in the composer. */
function ProblemNote() {
  if (!problem.value || phase.value === 'failed') return null;
  return (
    <div class="problem card row small" role="alert">
      <CircleAlert class="failure" size={16} aria-hidden="true" />
      <p class="grow">{problem.value.message}</p>
      <IconButton
        label="Dismiss"
        onClick={() => {
          problem.value = undefined;
        }}
        icon={X}
      />
    </div>
  );
}

/** Whether the agent is at work, or the page has lost the server. */
function WorkStatus() {
  if (phase.value === 'ready' && !connected.value) {
    return (
      <span class="row small warn" role="status">
        <Unplug size={16} aria-hidden="true" /> <span>Reconnecting</span>
      </span>
    );
  }
  const words = compacting.value ? 'Compacting' : call.value ? 'Working' : undefined;
  if (!words) return null;
  return (
    <span class="row small quiet" role="status">
      <LoaderCircle class="spin" size={16} aria-hidden="true" /> <span>{words}</span>
    </span>
  );
}

/** Shows and hides the context panel; while it is hidden, says how full the window is. */
function PanelButton() {
  const hidden = !showsPanel.value;
  const full = hidden && context.value ? share(context.value.total, windowSize.value) : '';
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={full ? `Context panel, ${full}` : 'Context panel'}
      aria-pressed={!hidden}
      title="Context (c)"
      onClick={togglePanel}
    >
      {full && <span>{full}</span>}
      <PanelRight size={16} aria-hidden="true" />
    </button>
  );
}
