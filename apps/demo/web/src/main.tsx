import './styles/tokens.css';
import './styles/base.css';
import { render } from 'preact';
import { App } from './components/app.js';
import { loadInfo } from './state/info.js';
import { startRouting } from './state/route.js';
import { refreshSessions } from './state/sessions.js';

const root = document.getElementById('app');
if (root) render(<App />, root);
startRouting();
void loadInfo();
void refreshSessions();
// Other pages and programs use the same sessions.
addEventListener('focus', () => void refreshSessions());
