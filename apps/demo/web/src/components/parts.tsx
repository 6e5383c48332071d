import { useSignal } from '@preact/signals';
import type { RenderedLine } from '@x/harness/view';
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
  /** Its name, for screen readers and under the pointer. */
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

/** The line above the middle of the page. */
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

interface FoldProps {
  readonly id: string;
  readonly class?: string;
  /** The line that is always there. */
  readonly line: ComponentChildren;
  /** Drawn only while open. */
  readonly children: () => ComponentChildren;
}

/** One line that opens. It stays open as long as the page lives. */
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
  /** What is copied, and shown if there are no lines. */
  readonly text: string;
  readonly lines?: readonly RenderedLine[] | undefined;
  /** For example its size. */
  readonly figure?: string;
}

/** Rendered lines as one text, with their marks. */
export function textOfLines(lines: readonly RenderedLine[]): string {
  return lines.map(({ mark, text }) => (mark === '' ? text : `${mark} ${text}`)).join('\n');
}

/** Monospaced text that can be copied. A long one scrolls. */
export function CodeBlock({ label, text, lines, figure }: CodeBlockProps) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => (copied.value = false), 1_500);
  };
  return (
    <figure class="code-block card">
      <figcaption class="row quiet label">
        <span>{label}</span>
        {figure && <span>{figure}</span>}
        <IconButton
          label={copied.value ? 'Copied' : `Copy ${label.toLowerCase()}`}
          icon={copied.value ? Check : Copy}
          onClick={() => void copy().catch(() => undefined)}
        />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
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
