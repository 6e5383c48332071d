import './styles/page.css';
import { render } from 'preact';
import { App } from './components/app.js';
import { loadInfo, refreshSessions } from './state/session.js';
import { startRouting } from './state/view.js';

const root = document.getElementById('app');
if (root) render(<App />, root);
startRouting();
void loadInfo();
void refreshSessions();
// Other pages and programs can change the same sessions.
addEventListener('focus', () => void refreshSessions());
