import { useSignal } from '@preact/signals';
import type { RenderedCall, RenderedLine } from '@x/harness/view';
import { Check, ChevronRight, Copy, type LucideIcon, PanelLeft } from 'lucide-preact';
import type { ComponentChildren, JSX } from 'preact';
import { drawerOpen, isOpen, setOpen, showsSessions } from '../state/view.js';

interface ButtonProps extends JSX.ButtonHTMLAttributes {
  readonly class?: string;
}

export function Button({ class: more = '', ...rest }: ButtonProps) {
  return <button type="button" {...rest} class={`button ${more}`} />;
}

interface IconButtonProps extends ButtonProps {
  /** The accessible name and tooltip. */
  readonly label: string;
  readonly icon: LucideIcon;
}

export function IconButton({ label, icon: Icon, class: more = '', children, ...rest }: IconButtonProps) {
  return (
    <button type="button" title={label} {...rest} class={`icon-button ${more}`} aria-label={label}>
      {children}
      <Icon size={16} aria-hidden="true" />
    </button>
  );
}

interface HeaderProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** The header of the middle column. */
export function Header({ title, children }: HeaderProps) {
  return (
    <header class="column-header row">
      {!showsSessions.value && (
        <IconButton label="Conversations" onClick={() => (drawerOpen.value = true)} icon={PanelLeft} />
      )}
      <h1 class="clip">{title}</h1>
      {children}
    </header>
  );
}

interface SectionProps extends HeaderProps {
  readonly figure?: string;
}

/** A titled part of a view or of the panel. */
export function Section({ title, figure, children }: SectionProps) {
  return (
    <section aria-label={title}>
      <h2 class="row heading">
        <span class="grow">{title}</span>
        {figure && <span class="quiet label">{figure}</span>}
      </h2>
      {children}
    </section>
  );
}

/** Terms with their descriptions. */
export function Facts({ rows }: { readonly rows: readonly (readonly [term: string, text: string])[] }) {
  return (
    <dl class="facts">
      {rows.map(([term, text]) => (
        <div key={term} class="row">
          <dt class="quiet">{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

interface FoldProps {
  readonly id: string;
  readonly class?: string;
  /** The line that is always visible. */
  readonly line: ComponentChildren;
  /** Drawn only while open. */
  readonly children: () => ComponentChildren;
}

/** A line that expands. Its state is kept until the page is closed. */
export function Fold({ id, line, children, class: more = '' }: FoldProps) {
  const open = isOpen(id);
  return (
    <div class={`fold ${more}`}>
      <button
        type="button"
        class="fold-line"
        data-fold={id}
        aria-expanded={open}
        aria-controls={`${id}-inside`}
        onClick={() => setOpen(id)}
      >
        {line}
        <ChevronRight class="fold-mark" size={16} aria-hidden="true" />
      </button>
      {open && (
        <div class="fold-inside" id={`${id}-inside`}>
          {children()}
        </div>
      )}
    </div>
  );
}

interface CodeBlockProps {
  readonly label: string;
  /** The text to copy. Also displayed if there are no lines. */
  readonly text: string;
  readonly lines?: readonly RenderedLine[] | undefined;
  /** A figure, such as its size. */
  readonly figure?: string;
}

/** Joins rendered lines, with their marks, to one text. */
export function textOfLines(lines: readonly RenderedLine[]): string {
  return lines.map(({ mark, text }) => (mark === '' ? text : `${mark} ${text}`)).join('\n');
}

/** The effect of a call: its command, change or input, and the rest of its input. */
export function CallLines({ label, call }: { readonly label: string; readonly call: RenderedCall }) {
  const { lines, rest } = call;
  return (
    <>
      <CodeBlock label={label} text={textOfLines(lines)} lines={lines} />
      {rest.length > 0 && <CodeBlock label="Other input" text={textOfLines(rest)} />}
    </>
  );
}

/** Monospaced text that can be copied. Long text scrolls. */
export function CodeBlock({ label, text, lines, figure }: CodeBlockProps) {
  /** The outcome of the last press, shown briefly. */
  const outcome = useSignal('');
  // The older way of a browser to copy, which also works over HTTP: from a selected field, next to the button because of open dialogs.
  const copy = (button: HTMLElement) => {
    const field = Object.assign(document.createElement('textarea'), { value: text });
    button.after(field);
    field.select();
    outcome.value = document.execCommand('copy') ? 'Copied' : 'Not copied: select the text';
    field.remove();
    button.focus();
    setTimeout(() => (outcome.value = ''), 3_000);
  };
  return (
    <figure class="code-block card">
      <figcaption class="row quiet label">
        <span>{label}</span>
        {figure && <span>{figure}</span>}
        <output>{outcome.value}</output>
        <IconButton
          label={`Copy ${label.toLowerCase()}`}
          icon={outcome.value === 'Copied' ? Check : Copy}
          onClick={({ currentTarget }) => copy(currentTarget)}
        />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable with the keyboard. */}
      <pre tabIndex={0}>
        {lines?.map(({ mark, text: line }, at) => (
          <span key={at} data-mark={mark}>
            {mark !== '' && `${mark} `}
            {`${line}\n`}
          </span>
        )) ?? text}
      </pre>
    </figure>
  );
}
