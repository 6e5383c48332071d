import type { LucideIcon } from 'lucide-preact';
import type { JSX } from 'preact';

interface ButtonProps extends JSX.ButtonHTMLAttributes {
  readonly class?: string;
}

/** A button with words. */
export function Button({ class: more = '', ...rest }: ButtonProps) {
  return <button type="button" {...rest} class={`button ${more}`} />;
}

interface IconButtonProps extends ButtonProps {
  /** What it is called, for those who cannot see the picture, and under the pointer. */
  readonly label: string;
  readonly icon: LucideIcon;
}

/** A button with a picture alone. */
export function IconButton({ label, icon: Icon, class: more = '', ...rest }: IconButtonProps) {
  return (
    <button type="button" title={label} {...rest} class={`icon-button ${more}`} aria-label={label}>
      <Icon size={16} />
    </button>
  );
}
