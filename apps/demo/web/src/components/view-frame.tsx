import './view-frame.css';
import { ArrowLeft, PanelLeft } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { goToConversation } from '../state/route.js';
import { drawerOpen, showsSessions } from '../state/view.js';
import { Button, IconButton } from './button.js';

interface ViewFrameProps {
  readonly title: string;
  readonly lead: string;
  readonly children: ComponentChildren;
}

/** A view in place of the conversation: a heading, a sentence, and what it shows. */
export function ViewFrame({ title, lead, children }: ViewFrameProps) {
  return (
    <main class="column">
      <header class="column-header row">
        <DrawerButton />
        <h1 class="clip">{title}</h1>
        <Button onClick={goToConversation}>
          <ArrowLeft size={16} aria-hidden="true" /> Conversation
        </Button>
      </header>
      <div class="scrolls">
        <div class="view-content stack">
          <p class="view-lead quiet small">{lead}</p>
          {children}
        </div>
      </div>
    </main>
  );
}

/** Opens the list of conversations, where there is no room to show it always. */
export function DrawerButton() {
  if (showsSessions.value) return null;
  return (
    <IconButton
      label="Conversations"
      onClick={() => {
        drawerOpen.value = true;
      }}
      icon={PanelLeft}
    />
  );
}
