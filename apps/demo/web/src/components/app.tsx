import './app.css';
import { useLayoutEffect } from 'preact/hooks';
import { announcement } from '../state/announcer.js';
import { type View, view } from '../state/route.js';
import { drawerOpen, sheetOpen, showsPanel, showsSessions } from '../state/view.js';
import { ContextPanel } from './context-panel.js';
import { ConversationColumn } from './conversation-column.js';
import { startKeyboard } from './keyboard.js';
import { lazyView } from './lazy-view.js';
import { Overlay } from './overlay.js';
import { SessionsColumn } from './sessions-column.js';

const InspectView = lazyView('Inspector', async () => (await import('./inspect-view.js')).InspectView);
const MemoryView = lazyView('Memory', async () => (await import('./memory-view.js')).MemoryView);
const ReplayView = lazyView('Replay', async () => (await import('./replay-view.js')).ReplayView);

/** Views beside which the context panel stands. */
const besideConversation: ReadonlySet<View> = new Set(['conversation', 'inspect']);

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
  }
}
