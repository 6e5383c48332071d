import { type Signal, signal } from '@preact/signals';
import { X } from 'lucide-preact';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { announcement } from '../state/announcer.js';
import {
  drawerOpen,
  keysOpen,
  sheetOpen,
  showsPanel,
  showsSessions,
  type View,
  view,
} from '../state/view.js';
import { ContextPanel } from './context-panel.js';
import { ConversationColumn } from './conversation.js';
import { keys, startKeyboard } from './keyboard.js';
import { Button, IconButton, ViewFrame } from './parts.js';
import { SessionsColumn } from './sessions-column.js';

/** The page: sessions, the conversation, the context. A part without room beside the conversation opens over it. */
export function App() {
  // Before the page is drawn: who sees it may press a key.
  useLayoutEffect(startKeyboard, []);
  const { value: shown } = view;
  return (
    <div class="app">
      <Beside hasRoom={showsSessions.value} open={drawerOpen} side="left" label="Conversations">
        <SessionsColumn />
      </Beside>
      {shown === 'conversation' ? <ConversationColumn /> : <OtherView name={shown} />}
      {(shown === 'conversation' || shown === 'file') && (
        <Beside hasRoom={showsPanel.value} open={sheetOpen} side="bottom" label="Context">
          <ContextPanel />
        </Beside>
      )}
      <Beside hasRoom={false} open={keysOpen} side="middle" label="Keys">
        <h2 class="heading">Keys</h2>
        <dl class="keys small">
          {keys.map(([key, meaning]) => (
            <div key={key} class="row">
              <dt class="code">{key}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </Beside>
      <p class="visually-hidden" aria-live="polite">
        {announcement.value}
      </p>
    </div>
  );
}

/** The other views, which are fetched when one of them is first shown. */
const views = signal<Readonly<Record<Exclude<View, 'conversation'>, ComponentType>> | undefined>(undefined);
const failed = signal(false);

async function fetchViews(): Promise<void> {
  failed.value = false;
  try {
    views.value = (await import('./views.js')).views;
  } catch {
    failed.value = true;
  }
}

function OtherView({ name }: { readonly name: Exclude<View, 'conversation'> }) {
  useEffect(() => {
    if (!views.peek()) void fetchViews();
  }, []);
  const Shown = views.value?.[name];
  if (Shown) return <Shown />;
  return (
    <ViewFrame title="" lead="" failure={failed.value ? 'This part of the page could not be loaded.' : ''}>
      {failed.value && <Button onClick={() => void fetchViews()}>Try again</Button>}
    </ViewFrame>
  );
}

interface BesideProps {
  readonly hasRoom: boolean;
  readonly open: Signal<boolean>;
  readonly side: 'left' | 'bottom' | 'middle';
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A column beside the conversation or, without room, a dialog over it: it keeps the focus inside, and Escape closes it. */
function Beside({ hasRoom, open, side, label, children }: BesideProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = open.value;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  if (hasRoom) return children;
  const close = () => {
    open.value = false;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it closes it; with keys it is Escape, by the browser.
    <dialog
      ref={dialog}
      class={`overlay overlay-${side}`}
      aria-label={label}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {shown && (
        <div class="overlay-content">
          {children}
          <IconButton class="overlay-close" label={`Close ${label}`} onClick={close} icon={X} />
        </div>
      )}
    </dialog>
  );
}
