import { useSignal } from '@preact/signals';
import type { JsonValue, PendingCall, PermissionRule } from '@x/core';
import { Hand } from 'lucide-preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { busy, decide } from '../state/session.js';
import { CodeBlock } from './code-block.js';

/** A tool call that waits for the user: what it is, why it is asked for, and the answers that there are. */
export function Approval({ call }: { readonly call: PendingCall }) {
  const step = useSignal<'ask' | 'edit' | 'deny'>('ask');
  const suggestion = call.suggestion && ruleInWords(call.suggestion);
  const back = () => {
    step.value = 'ask';
  };
  return (
    <section class="block approval" data-turn tabIndex={-1} aria-label={`Approve ${call.name}?`}>
      <h3 class="row">
        <Hand class="accent" size={16} aria-hidden="true" />
        <span>
          Approve <code>{call.name}</code>?
        </span>
      </h3>
      {call.reason && <p class="quiet small">{call.reason}</p>}
      {step.value !== 'edit' && <CodeBlock label="Input" text={JSON.stringify(call.input, null, 2)} />}
      {step.value === 'ask' && (
        <div class="row wrap">
          <button
            type="button"
            class="button button-main"
            disabled={busy.value}
            onClick={() => void decide(call.approvalId, { type: 'approve' })}
          >
            Allow
          </button>
          {suggestion && (
            <button
              type="button"
              class="button"
              disabled={busy.value}
              title={`Keeps the rule ${suggestion} for this conversation`}
              onClick={() => void decide(call.approvalId, { type: 'approve', always: true })}
            >
              Always
            </button>
          )}
          <button type="button" class="button" onClick={() => (step.value = 'edit')}>
            Edit input
          </button>
          <button type="button" class="button" onClick={() => (step.value = 'deny')}>
            Deny
          </button>
        </div>
      )}
      {step.value === 'edit' && <EditForm call={call} onBack={back} />}
      {step.value === 'deny' && <DenyForm call={call} onBack={back} />}
      {step.value === 'ask' && suggestion && (
        <p class="quiet small">
          Always keeps <code>{suggestion}</code> for this conversation.
        </p>
      )}
    </section>
  );
}

interface FormProps {
  readonly call: PendingCall;
  readonly onBack: () => void;
}

function EditForm({ call, onBack }: FormProps) {
  const field = useFocus<HTMLTextAreaElement>();
  const text = useSignal(JSON.stringify(call.input, null, 2));
  const failure = useSignal('');
  const submit = (event: Event) => {
    event.preventDefault();
    const input = parsed(text.peek());
    if (input === undefined) {
      failure.value = 'This is no JSON: look for a missing quote, comma or bracket.';
      field.current?.focus();
    } else void decide(call.approvalId, { type: 'edit', input });
  };
  return (
    <form class="stack small" onSubmit={submit}>
      <label for={`${call.id}-input`}>Input that is run instead; the model is told</label>
      <textarea
        id={`${call.id}-input`}
        ref={field}
        class="field"
        spellcheck={false}
        rows={Math.min(14, text.value.split('\n').length + 1)}
        value={text.value}
        aria-invalid={failure.value !== ''}
        aria-describedby={`${call.id}-failure`}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          failure.value = '';
        }}
        onKeyDown={(event) => event.key === 'Escape' && onBack()}
      />
      <p id={`${call.id}-failure`} class="failure small" role="alert">
        {failure.value}
      </p>
      <Buttons main="Allow with this input" onBack={onBack} />
    </form>
  );
}

function DenyForm({ call, onBack }: FormProps) {
  const field = useFocus<HTMLInputElement>();
  const reason = useSignal('');
  const submit = (event: Event) => {
    event.preventDefault();
    const said = reason.peek().trim();
    void decide(call.approvalId, { type: 'deny', ...(said ? { reason: said } : {}) });
  };
  return (
    <form class="stack small" onSubmit={submit}>
      <label for={`${call.id}-reason`}>Why not, for the model (may be empty)</label>
      <input
        id={`${call.id}-reason`}
        ref={field}
        class="field"
        value={reason.value}
        onInput={(event) => {
          reason.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => event.key === 'Escape' && onBack()}
      />
      <Buttons main="Deny" onBack={onBack} />
    </form>
  );
}

function Buttons({ main, onBack }: { readonly main: string; readonly onBack: () => void }) {
  return (
    <div class="row wrap">
      <button type="submit" class="button button-main" disabled={busy.value}>
        {main}
      </button>
      <button type="button" class="button" onClick={onBack}>
        Back
      </button>
    </div>
  );
}

/** The field of a form that has just been asked for; it has the focus before the form is drawn. */
function useFocus<Field extends HTMLElement>() {
  const field = useRef<Field>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return field;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A rule as people write it: `write_file(notes/a.md)`. */
function ruleInWords({ tool, match }: PermissionRule): string {
  return match === undefined ? tool : `${tool}(${match})`;
}
