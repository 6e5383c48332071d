import {
  ArrowDown,
  ArrowRight,
  CircleAlert,
  FilePen,
  FolderSearch,
  LoaderCircle,
  type LucideIcon,
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
import {
  busy,
  call,
  compacting,
  connected,
  context,
  info,
  modelLine,
  openSession,
  pending,
  phase,
  problem,
  sessionId,
  title,
  windowSize,
} from '../state/session.js';
import { following, goToNew, sheetOpen, showsPanel, togglePanel } from '../state/view.js';
import { Approval, ApproveAll } from './approval.js';
import { Composer } from './composer.js';
import { GaugeBar } from './gauge.js';
import { Button, Header, IconButton } from './parts.js';
import { BlockView, Draft } from './turns.js';

/** The middle: what was said, and where to say more. */
export function ConversationColumn() {
  const hidden = !showsPanel.value;
  const full = hidden && context.value ? share(context.value.total, windowSize.value) : '';
  return (
    <main class="column">
      <Header title={title.value || 'New conversation'}>
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
      {phase.value === 'new' && <EmptyState />}
      {phase.value === 'loading' && <div class="scrolls" aria-busy="true" />}
      {phase.value === 'failed' && <MissingState />}
      {phase.value === 'ready' && <Conversation />}
      <div class="conversation-foot">
        {problem.value && phase.value !== 'failed' && (
          <div class="problem card row small" role="alert">
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

/** How near to the end counts as being there. */
const NEAR = 48;

/** The turns. It stays at its end while it grows, and leaves a reader alone who scrolled up. */
function Conversation() {
  const scroll = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const id = sessionId.value;
  // Chosen once a session: what one reads must not go while the agent works.
  const latest = useMemo(() => latestFrom(blocks.peek()), [id]);
  const from = isDrawnWhole.value ? 0 : latest;

  useLayoutEffect(() => {
    const [view, inner] = [scroll.current, content.current];
    if (!view || !inner) return;
    following.value = true;
    const observer = new ResizeObserver(() => {
      if (following.peek()) view.scrollTop = view.scrollHeight;
    });
    observer.observe(inner);
    observer.observe(view);
    return () => observer.disconnect();
  }, [id]);

  const onScroll = () => {
    const view = scroll.current;
    if (!view) return;
    const near = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR;
    // New content has not been scrolled to yet: only who goes up wants to stay there.
    following.value = near || (following.peek() && view.scrollTop >= top.current);
    top.current = view.scrollTop;
  };
  const toEnd = () => {
    following.value = true;
    scroll.current?.scrollTo({ top: scroll.current.scrollHeight });
  };
  // What one opens should stay where it is.
  const onClick = (event: MouseEvent) => {
    if ((event.target as Element).closest('[data-fold]')) following.value = false;
  };

  return (
    <div class="conversation-view column">
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
        <Button class="conversation-latest" onClick={toEnd}>
          <ArrowDown size={16} /> Latest
        </Button>
      )}
    </div>
  );
}

const icons = { survey: FolderSearch, ask: MessageCircleQuestionMark, write: FilePen };

/** What there is to do before anything was said, and who will answer. */
function EmptyState() {
  const backend = info.value;
  return (
    <div class="conversation-scroll scrolls centered">
      <div class="stack">
        <h2>See what the model sees</h2>
        <p class="quiet small">
          What fills its window, what was removed to make room, and what that cost: beside the conversation,
          while you talk.
        </p>
        <ul class="empty-starters card">
          {backend?.starters.map(({ icon, title, description, prompt }) => (
            <li key={title}>
              <button type="button" class="row" disabled={busy.value} onClick={() => void say(prompt)}>
                <StarterLine icon={icons[icon]} title={title} description={description} />
              </button>
            </li>
          ))}
          <li>
            <a class="row" href="#/replay">
              <StarterLine
                icon={Rewind}
                title="Replay a log of your own"
                description="Compare what each way of compacting keeps, sends and costs"
              />
            </a>
          </li>
        </ul>
        <p class="empty-model quiet small">
          {backend ? `Answered by ${modelLine.value}` : 'Waiting for the server …'}
        </p>
      </div>
    </div>
  );
}

interface StarterLineProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly description: string;
}

function StarterLine({ icon: Icon, title, description }: StarterLineProps) {
  return (
    <>
      <Icon size={16} aria-hidden="true" />
      <span class="grow">
        <strong>{title}</strong>
        <small>{description}</small>
      </span>
      <ArrowRight size={16} aria-hidden="true" />
    </>
  );
}

/** In place of a conversation that could not be loaded. */
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

/** Whether the agent is at work, or the page has lost the server. */
function WorkStatus() {
  const lost = phase.value === 'ready' && !connected.value;
  const words = compacting.value ? 'Compacting' : call.value ? 'Working' : '';
  if (!lost && !words) return null;
  return (
    <span class={`row small ${lost ? 'warn' : 'quiet'}`} role="status">
      {lost ? (
        <Unplug size={16} aria-hidden="true" />
      ) : (
        <LoaderCircle class="spin" size={16} aria-hidden="true" />
      )}
      <span>{lost ? 'Reconnecting' : words}</span>
    </span>
  );
}
