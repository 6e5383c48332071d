import './app.css';
import { useEffect } from 'preact/hooks';
import { announcement } from '../state/announcer.js';
import { drawerOpen, sheetOpen, showsPanel, showsSessions } from '../state/view.js';
import { ContextPanel } from './context-panel.js';
import { ConversationColumn } from './conversation-column.js';
import { startKeyboard } from './keyboard.js';
import { Overlay } from './overlay.js';
import { SessionsColumn } from './sessions-column.js';

/** The page: sessions, the conversation, the context. What has no room beside the conversation lies over it. */
export function App() {
  useEffect(startKeyboard, []);
  return (
    <div class="app">
      {showsSessions.value ? (
        <SessionsColumn />
      ) : (
        <Overlay open={drawerOpen} side="left" label="Conversations">
          <SessionsColumn />
        </Overlay>
      )}
      <ConversationColumn />
      {showsPanel.value ? (
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
