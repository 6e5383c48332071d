import './overlay.css';
import type { Signal } from '@preact/signals';
import { X } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface OverlayProps {
  readonly open: Signal<boolean>;
  readonly side: 'left' | 'bottom';
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A drawer or a sheet. The browser's own dialog: it keeps the focus inside, and Escape closes it. */
export function Overlay({ open, side, label, children }: OverlayProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = open.value;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  const close = () => {
    open.value = false;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it closes it; with keys it is Escape, by the browser.
    <dialog
      ref={dialog}
      class={`overlay overlay-${side}`}
      aria-label={label}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {shown && (
        <div class="overlay-content">
          {children}
          <button
            type="button"
            class="icon-button overlay-close"
            aria-label={`Close ${label}`}
            onClick={close}
          >
            <X size={16} />
          </button>
        </div>
      )}
    </dialog>
  );
}
