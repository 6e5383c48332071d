import './styles/page.css';
import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './components/app.js';
import { busy, loadFiles, loadInfo, refreshSessions } from './state/session.js';
import { startRouting } from './state/view.js';

const root = document.getElementById('app');
if (root) render(<App />, root);
startRouting();
void loadInfo();
void refreshSessions();
// Loaded at the start and when the agent stops, because it may have written files. The conversation links to them.
effect(() => {
  if (!busy.value) void loadFiles();
});
// Other pages and programs can change the same sessions.
addEventListener('focus', () => void refreshSessions());
