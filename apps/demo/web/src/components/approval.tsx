import type { Decision } from '@x/harness';
import { Hand } from 'lucide-preact';
import type { WaitingCall } from '../../../src/page.js';
import { busy, decide, pending } from '../state/session.js';
import { goToEnd } from '../state/show-message.js';
import { Button, CallLines } from './parts.js';

/** A tool call that waits for approval: its effect, and the possible decisions. */
export function Approval({ call }: { readonly call: WaitingCall }) {
  const { approvalId, reason, suggestion, seen } = call;
  const match = suggestion?.match === undefined ? '' : `(${suggestion.match})`;
  return (
    <article
      class="block approval stack pad-wide"
      data-turn
      tabIndex={-1}
      aria-label={`It wants to ${seen.wants}`}
    >
      <h2 class="row">
        <Hand class="accent" size={16} aria-hidden="true" />
        <span>It wants to {seen.wants}.</span>
      </h2>
      {reason && <p class="quiet small">{reason}</p>}
      <CallLines label={seen.change?.path ?? (seen.kind === 'execute' ? 'Command' : 'Input')} call={seen} />
      <div class="row wrap">
        {decideButton('Allow', { type: 'approve' }, approvalId)}
        {suggestion && decideButton('Always', { type: 'approve', always: true }, approvalId)}
        {decideButton('Deny', { type: 'deny' }, approvalId)}
      </div>
      <p class="quiet small">
        {suggestion && (
          <>
            “Always” allows{' '}
            <code>
              {suggestion.tool}
              {match}
            </code>{' '}
            for the rest of this conversation.{' '}
          </>
        )}
        To deny it and say why, write a message.
      </p>
    </article>
  );
}

/** Decides on all pending calls. */
export function ApproveAll() {
  const waiting = pending.value.map(({ approvalId }) => approvalId);
  if (waiting.length < 2) return null;
  return (
    <div class="block row wrap">
      {decideButton(`Allow all ${waiting.length}`, { type: 'approve' }, ...waiting)}
      {decideButton('Deny all', { type: 'deny' }, ...waiting)}
    </div>
  );
}

function decideButton(label: string, decision: Decision, ...approvals: readonly string[]) {
  const onClick = () => {
    goToEnd();
    void decide(decision, ...approvals);
  };
  const isMain = decision.type === 'approve' && !decision.always;
  return (
    <Button class={isMain ? 'button-main' : ''} disabled={busy.value} onClick={onClick}>
      {label}
    </Button>
  );
}
