import { useSignal } from '@preact/signals';
import type { JsonValue, PendingCall, PermissionRule } from '@x/core';
import { Hand } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { lineDiff } from '../lib/line-diff.js';
import { api } from '../state/api.js';
import { busy, decide, pending, work } from '../state/session.js';
import { Button } from './button.js';
import { CodeBlock } from './code-block.js';
import { Markdown } from './markdown.js';

/** A tool call that waits for the user: what it is, why it is asked for, and the answers that there are. */
export function Approval({ call }: { readonly call: PendingCall }) {
  const step = useSignal<'ask' | 'edit' | 'deny'>('ask');
  const suggestion = call.suggestion && ruleInWords(call.suggestion);
  const back = () => {
    step.value = 'ask';
  };
  return (
    <article class="block approval" data-turn tabIndex={-1} aria-label={`Approve ${call.name}?`}>
      <h2 class="row">
        <Hand class="accent" size={16} aria-hidden="true" />
        <span>
          Approve <code>{call.name}</code>?
        </span>
      </h2>
      {call.reason && <p class="quiet small">{call.reason}</p>}
      {step.value !== 'edit' && <Asked call={call} />}
      {step.value === 'ask' && (
        <div class="row wrap">
          <Button
            class="button-main"
            disabled={busy.value}
            onClick={() => void decide({ type: 'approve' }, call.approvalId)}
          >
            Allow
          </Button>
          {suggestion && (
            <Button
              disabled={busy.value}
              title={`Keeps the rule ${suggestion} for this conversation`}
              onClick={() => void decide({ type: 'approve', always: true }, call.approvalId)}
            >
              Always
            </Button>
          )}
          <Button onClick={() => (step.value = 'edit')}>Edit input</Button>
          <Button onClick={() => (step.value = 'deny')}>Deny</Button>
        </div>
      )}
      {step.value === 'edit' && <EditForm call={call} onBack={back} />}
      {step.value === 'deny' && <DenyForm call={call} onBack={back} />}
      {step.value === 'ask' && suggestion && (
        <p class="quiet small">
          Always keeps <code>{suggestion}</code> for this conversation.
        </p>
      )}
    </article>
  );
}

/** What is asked for, as itself: a command line, a change of a file, a plan; else the input. */
function Asked({ call }: { readonly call: PendingCall }) {
  const input = (isRecord(call.input) ? call.input : {}) as Readonly<Record<string, JsonValue | undefined>>;
  if (call.name === 'plan_exit' && work.value.plan.text)
    return (
      <div class="plan-text">
        <Markdown text={work.value.plan.text} />
      </div>
    );
  const view = views[call.name];
  if (view === undefined || view.shows.some((name) => typeof input[name] !== 'string')) {
    return <CodeBlock label="Input" text={JSON.stringify(call.input, null, 2)} />;
  }
  const rest = Object.entries(input).filter(([name]) => !view.shows.includes(name));
  return (
    <>
      {view.of(input as Readonly<Record<string, string>>)}
      {rest.length > 0 && (
        <CodeBlock label="Other input" text={JSON.stringify(Object.fromEntries(rest), null, 2)} />
      )}
    </>
  );
}

/** The tools of ours that are shown by what they do. Another tool's `command` or `path` may mean anything. */
const views: Readonly<
  Record<
    string,
    {
      readonly shows: readonly string[];
      readonly of: (input: Readonly<Record<string, string>>) => ComponentChildren;
    }
  >
> = {
  execute: {
    shows: ['command'],
    of: ({ command = '' }) => <CodeBlock label="Command" text={command} />,
  },
  write_file: {
    shows: ['path', 'content'],
    of: ({ path = '', content = '' }) => <Overwritten path={path} content={content} />,
  },
  edit_file: {
    shows: ['path', 'oldText', 'newText'],
    of: ({ path = '', oldText = '', newText = '' }) => <Diff path={path} before={oldText} after={newText} />,
  },
};

function isRecord(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What writing a file would change in what is there. */
function Overwritten({ path, content }: { readonly path: string; readonly content: string }) {
  const before = useSignal({ text: '', more: 0 });
  useEffect(() => {
    api.fileIfAny(path).then(
      (file) => {
        // A file that is not there yet is all new.
        if (file) before.value = { text: file.text, more: file.size - (file.nextOffset ?? file.size) };
      },
      () => {},
    );
  }, [path, before]);
  const { text, more } = before.value;
  return (
    <>
      <Diff path={path} before={text} after={content} />
      {more > 0 && <p class="quiet small">{more} bytes more of this file are replaced as well.</p>}
    </>
  );
}

interface DiffProps {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

function Diff({ path, before, after }: DiffProps) {
  const lines = lineDiff(before, after);
  const text = lines.map(([mark, line]) => `${mark} ${line}`).join('\n');
  return <CodeBlock label={path} text={text} marks={lines.map(([mark]) => mark)} />;
}

/** Decides on all that wait at once. */
export function ApproveAll() {
  const waiting = pending.value.map(({ approvalId }) => approvalId);
  if (waiting.length < 2) return null;
  return (
    <div class="block row wrap">
      <Button
        class="button-main"
        disabled={busy.value}
        onClick={() => void decide({ type: 'approve' }, ...waiting)}
      >
        Allow all {waiting.length}
      </Button>
      <Button disabled={busy.value} onClick={() => void decide({ type: 'deny' }, ...waiting)}>
        Refuse all
      </Button>
    </div>
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
    } else void decide({ type: 'edit', input }, call.approvalId);
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
    void decide({ type: 'deny', ...(said ? { reason: said } : {}) }, call.approvalId);
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
      <Button type="submit" class="button-main" disabled={busy.value}>
        {main}
      </Button>
      <Button onClick={onBack}>Back</Button>
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
