import type { Signal } from '@preact/signals';
import { X } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { announcement } from '../state/announcer.js';
import { drawerOpen, filePath, keysOpen, sheetOpen, showsPanel, showsSessions } from '../state/view.js';
import { ContextPanel } from './context-panel.js';
import { ConversationColumn } from './conversation.js';
import { FileView } from './file-view.js';
import { keys, startKeyboard } from './keyboard.js';
import { Facts, IconButton } from './parts.js';
import { SessionsColumn } from './sessions-column.js';

/** The page: sessions, the conversation, the context. Parts without room open as an overlay. */
export function App() {
  // Registered before the page is drawn, because a user may press a key as soon as it is visible.
  useLayoutEffect(startKeyboard, []);
  return (
    <div class="app">
      <Beside hasRoom={showsSessions.value} open={drawerOpen} side="left" label="Conversations">
        <SessionsColumn />
      </Beside>
      {filePath.value === '' ? <ConversationColumn /> : <FileView />}
      <Beside hasRoom={showsPanel.value} open={sheetOpen} side="bottom" label="Context">
        <ContextPanel />
      </Beside>
      <Beside hasRoom={false} open={keysOpen} side="left" label="Keys">
        <header class="column-header row">
          <h2 class="heading">Keys</h2>
        </header>
        <div class="small pad-wide">
          <Facts rows={keys.map(([key, meaning]) => [key, meaning])} />
        </div>
      </Beside>
      <p class="visually-hidden" aria-live="polite">
        {announcement.value}
      </p>
    </div>
  );
}

interface BesideProps {
  readonly hasRoom: boolean;
  readonly open: Signal<boolean>;
  readonly side: 'left' | 'bottom';
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A column next to the conversation or, without room, a dialog over it, which traps the focus and closes with Escape. */
function Beside({ hasRoom, open, side, label, children }: BesideProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = open.value;
  // Runs before its content scrolls into view, because a closed dialog does not scroll.
  useLayoutEffect(() => {
    if (!shown) return dialog.current?.close();
    dialog.current?.showModal();
    // A focused search field would open the keyboard of a phone.
    dialog.current?.focus();
  }, [shown]);
  if (hasRoom) return children;
  const close = () => {
    open.value = false;
  };
  const onClick = ({ target }: MouseEvent) => {
    if (target === dialog.current || (target as Element).closest('a')) close();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click outside closes the dialog; with the keyboard, the browser closes it on Escape.
    <dialog
      ref={dialog}
      class={`overlay overlay-${side}`}
      tabIndex={-1}
      aria-label={label}
      onClose={close}
      onClick={onClick}
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
