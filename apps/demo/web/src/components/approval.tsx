import { useSignal } from '@preact/signals';
import type { JsonValue } from '@x/core';
import { Hand } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { WaitingCall } from '../../../src/page.js';
import { busy, decide, pending } from '../state/session.js';
import { Button, CodeBlock, textOfLines } from './parts.js';

/** A tool call that waits for the user: what it would do, and the possible decisions. */
export function Approval({ call }: { readonly call: WaitingCall }) {
  // Long because it draws the three steps of one decision.
  const { approvalId, reason, suggestion, seen } = call;
  const step = useSignal<'ask' | 'edit' | 'deny'>('ask');
  const back = () => {
    step.value = 'ask';
  };
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
      {step.value !== 'edit' && <Asked call={call} />}
      {step.value === 'ask' && (
        <>
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
            <Button onClick={() => (step.value = 'edit')}>Edit input</Button>
            <Button onClick={() => (step.value = 'deny')}>Deny</Button>
          </div>
          {suggestion && (
            <p class="quiet small">
              “Always” allows{' '}
              <code>
                {suggestion.tool}
                {match}
              </code>{' '}
              for the rest of this conversation.
            </p>
          )}
        </>
      )}
      {step.value === 'edit' && (
        <Form
          label="Input to run instead. The model reads that you changed it."
          main="Allow with this input"
          text={JSON.stringify(call.input, null, 2)}
          onSubmit={(text) => decide({ type: 'edit', input: JSON.parse(text) as JsonValue }, approvalId)}
          onBack={back}
        />
      )}
      {step.value === 'deny' && (
        <Form
          label="Reason, for the model (optional)"
          main="Deny"
          onSubmit={(reason) => decide({ type: 'deny', ...(reason ? { reason } : {}) }, approvalId)}
          onBack={back}
        />
      )}
    </article>
  );
}

/** Decides on all calls that wait. */
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

/** What a call would do: a command or a change of a file; else its input. */
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

interface FormProps {
  readonly label: string;
  /** The words on the button. */
  readonly main: string;
  /** A text to edit; without it a line is asked for. */
  readonly text?: string;
  /** Throws for a text that is not valid JSON. */
  onSubmit(text: string): unknown;
  onBack(): void;
}

function Form({ label, main, text, onSubmit, onBack }: FormProps) {
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  const id = useId();
  const failure = useSignal('');
  // Before the form is drawn: who has just asked for it types at once.
  useLayoutEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    try {
      onSubmit(field.current?.value.trim() ?? '');
    } catch {
      failure.value = 'This is not valid JSON. Look for a missing quote, comma or bracket.';
    }
  };
  const Field = text === undefined ? 'input' : 'textarea';
  return (
    <form
      class="stack small"
      onSubmit={submit}
      onInput={() => (failure.value = '')}
      onKeyDown={(event) => event.key === 'Escape' && onBack()}
    >
      <label for={id}>{label}</label>
      <Field
        id={id}
        ref={field}
        class="field"
        spellcheck={false}
        rows={Math.min(14, (text ?? '').split('\n').length + 1)}
        defaultValue={text ?? ''}
        aria-invalid={failure.value !== ''}
      />
      <p class="failure" role="alert">
        {failure.value}
      </p>
      <div class="row wrap">
        <Button type="submit" class="button-main" disabled={busy.value}>
          {main}
        </Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </form>
  );
}
