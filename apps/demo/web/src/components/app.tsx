import './app.css';
import { type Signal, signal } from '@preact/signals';
import { X } from 'lucide-preact';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { announcement } from '../state/announcer.js';
import { type View, view } from '../state/route.js';
import { drawerOpen, sheetOpen, showsPanel, showsSessions } from '../state/view.js';
import { Button, IconButton } from './button.js';
import { ContextPanel } from './context-panel.js';
import { ConversationColumn } from './conversation.js';
import { startKeyboard } from './keyboard.js';
import { SessionsColumn } from './sessions-column.js';

const InspectView = lazyView('Inspector', async () => (await import('./inspect-view.js')).InspectView);
const MemoryView = lazyView('Memory', async () => (await import('./memory-view.js')).MemoryView);
const FileView = lazyView('File', async () => (await import('./file-view.js')).FileView);
const ReplayView = lazyView('Replay', async () => (await import('./replay-view.js')).ReplayView);

/** Views beside which the context panel stands. */
const besideConversation: ReadonlySet<View> = new Set(['conversation', 'inspect', 'file']);

/** The page: sessions, the conversation, the context. What has no room beside the conversation lies over it. */
export function App() {
  // Before the page is drawn: who sees it may press a key.
  useLayoutEffect(startKeyboard, []);
  return (
    <div class="app">
      {showsSessions.value ? (
        <SessionsColumn />
      ) : (
        <Overlay open={drawerOpen} side="left" label="Conversations">
          <SessionsColumn />
        </Overlay>
      )}
      <Middle />
      {!besideConversation.has(view.value) ? null : showsPanel.value ? (
        <ContextPanel />
      ) : (
        <Overlay open={sheetOpen} side="bottom" label="Context">
          <ContextPanel />
        </Overlay>
      )}
      <p class="visually-hidden" aria-live="polite">
        {announcement.value}
      </p>
    </div>
  );
}

function Middle() {
  switch (view.value) {
    case 'conversation':
      return <ConversationColumn />;
    case 'inspect':
      return <InspectView />;
    case 'memory':
      return <MemoryView />;
    case 'replay':
      return <ReplayView />;
    case 'file':
      return <FileView />;
  }
}

/** A part of the page that is fetched when it is first shown. */
function lazyView(title: string, load: () => Promise<ComponentType>): ComponentType {
  const loaded = signal<{ readonly View: ComponentType } | undefined>(undefined);
  const failed = signal(false);
  const fetchIt = () => {
    failed.value = false;
    load().then(
      (View) => {
        loaded.value = { View };
      },
      () => {
        failed.value = true;
      },
    );
  };
  return function LazyView() {
    useEffect(() => {
      if (!loaded.peek()) fetchIt();
    }, []);
    if (loaded.value) return <loaded.value.View />;
    return (
      <main class="column" aria-label={title} aria-busy={!failed.value}>
        {failed.value && (
          <div class="view-content" role="alert">
            <p>This part of the page could not be fetched. Nothing is lost.</p>
            <Button onClick={fetchIt}>Try again</Button>
          </div>
        )}
      </main>
    );
  };
}

interface OverlayProps {
  readonly open: Signal<boolean>;
  readonly side: 'left' | 'bottom';
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A drawer or a sheet. The browser's own dialog: it keeps the focus inside, and Escape closes it. */
function Overlay({ open, side, label, children }: OverlayProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = open.value;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
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
