import { useSignal } from '@preact/signals';
import { Hand } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { WaitingCall } from '../../../src/page.js';
import { busy, decide, pending } from '../state/session.js';
import { Button, CodeBlock, textOfLines } from './parts.js';

/** A tool call that waits for approval: its effect, and the possible decisions. */
export function Approval({ call }: { readonly call: WaitingCall }) {
  const { approvalId, reason, suggestion, seen } = call;
  const isDenying = useSignal(false);
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
      <Asked call={call} />
      {isDenying.value ? (
        <Denial approvalId={approvalId} onBack={() => (isDenying.value = false)} />
      ) : (
        <div class="row wrap">
          <Decide type="approve" approvals={[approvalId]}>
            Allow
          </Decide>
          {suggestion && (
            <Button
              disabled={busy.value}
              onClick={() => void decide({ type: 'approve', always: true }, approvalId)}
            >
              Always
            </Button>
          )}
          <Button onClick={() => (isDenying.value = true)}>Deny</Button>
        </div>
      )}
      {suggestion && !isDenying.value && (
        <p class="quiet small">
          “Always” allows{' '}
          <code>
            {suggestion.tool}
            {match}
          </code>{' '}
          for the rest of this conversation.
        </p>
      )}
    </article>
  );
}

/** Decides on all pending calls. */
export function ApproveAll() {
  const waiting = pending.value.map(({ approvalId }) => approvalId);
  if (waiting.length < 2) return null;
  return (
    <div class="block row wrap">
      <Decide type="approve" approvals={waiting}>
        Allow all {waiting.length}
      </Decide>
      <Decide type="deny" approvals={waiting}>
        Deny all
      </Decide>
    </div>
  );
}

interface DecideProps {
  readonly type: 'approve' | 'deny';
  readonly approvals: readonly string[];
  readonly children: ComponentChildren;
}

function Decide({ type, approvals, children }: DecideProps) {
  return (
    <Button
      class={type === 'approve' ? 'button-main' : ''}
      disabled={busy.value}
      onClick={() => void decide({ type }, ...approvals)}
    >
      {children}
    </Button>
  );
}

/** The effect of a call: a command or a file change, otherwise its input. */
function Asked({ call: { seen } }: { readonly call: WaitingCall }) {
  const { change, kind, lines, rest } = seen;
  const label = change?.path ?? (kind === 'execute' ? 'Command' : 'Input');
  return (
    <>
      <CodeBlock label={label} text={textOfLines(lines)} lines={lines} />
      {rest.length > 0 && <CodeBlock label="Other input" text={textOfLines(rest)} />}
    </>
  );
}

interface DenialProps {
  readonly approvalId: string;
  onBack(): void;
}

/** Asks for the reason of a denial. */
function Denial({ approvalId, onBack }: DenialProps) {
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // Focused before the form is drawn, so that the user can type at once.
  useLayoutEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    const reason = field.current?.value.trim();
    void decide({ type: 'deny', ...(reason ? { reason } : {}) }, approvalId);
  };
  return (
    <form class="stack small" onSubmit={submit} onKeyDown={(event) => event.key === 'Escape' && onBack()}>
      <label for={id}>Reason, for the model (optional)</label>
      <input id={id} ref={field} class="field" />
      <div class="row wrap">
        <Button type="submit" class="button-main" disabled={busy.value}>
          Deny
        </Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </form>
  );
}
