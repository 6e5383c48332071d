import './conversation-column.css';
import { context, phase, title } from '../state/session.js';
import { sheetOpen, showsPanel } from '../state/view.js';
import { Composer } from './composer.js';
import { Conversation } from './conversation.js';
import { DrawerButton } from './drawer-button.js';
import { EmptyState } from './empty-state.js';
import { GaugeBar } from './gauge-bar.js';
import { MissingState } from './missing-state.js';
import { PanelButton } from './panel-button.js';
import { ProblemNote } from './problem-note.js';
import { WorkStatus } from './work-status.js';

/** The middle: what was said, and where to say more. */
export function ConversationColumn() {
  return (
    <main class="conversation-column">
      <header class="column-header">
        <DrawerButton />
        <h1 class="conversation-title">{title.value || 'New conversation'}</h1>
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
      return <div class="conversation-scroll" aria-busy="true" />;
    case 'ready':
      return <Conversation />;
  }
}
