import './view-frame.css';
import { ArrowLeft, PanelLeft } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { goToConversation } from '../state/route.js';
import { drawerOpen, showsSessions } from '../state/view.js';

interface ViewFrameProps {
  readonly title: string;
  readonly lead: string;
  readonly children: ComponentChildren;
}

/** A view in place of the conversation: a heading, a sentence, and what it shows. */
export function ViewFrame({ title, lead, children }: ViewFrameProps) {
  return (
    <main class="view">
      <header class="column-header">
        {!showsSessions.value && (
          <button
            type="button"
            class="icon-button"
            aria-label="Conversations"
            onClick={() => {
              drawerOpen.value = true;
            }}
          >
            <PanelLeft size={16} />
          </button>
        )}
        <h1 class="view-title">{title}</h1>
        <button type="button" class="button" onClick={goToConversation}>
          <ArrowLeft size={16} aria-hidden="true" /> Conversation
        </button>
      </header>
      <div class="view-scroll">
        <div class="view-content">
          <p class="view-lead">{lead}</p>
          {children}
        </div>
      </div>
    </main>
  );
}
