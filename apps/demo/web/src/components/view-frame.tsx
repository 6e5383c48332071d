import './view-frame.css';
import { ArrowLeft } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { goToConversation } from '../state/route.js';
import { DrawerButton } from './drawer-button.js';

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
        <DrawerButton />
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
