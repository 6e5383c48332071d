import './work-status.css';
import { LoaderCircle, Unplug } from 'lucide-preact';
import { call, compacting, connected, phase } from '../state/session.js';

/** Whether the agent is at work, or the page has lost the server. */
export function WorkStatus() {
  if (phase.value === 'ready' && !connected.value) {
    return (
      <span class="work-status work-lost" role="status">
        <Unplug size={16} aria-hidden="true" /> <span>Reconnecting</span>
      </span>
    );
  }
  const words = compacting.value ? 'Compacting' : call.value ? 'Working' : undefined;
  if (!words) return null;
  return (
    <span class="work-status" role="status">
      <LoaderCircle class="spin" size={16} aria-hidden="true" /> <span>{words}</span>
    </span>
  );
}
