import './panel-section.css';
import type { ComponentChildren } from 'preact';

interface PanelSectionProps {
  readonly title: string;
  readonly figure?: string;
  readonly children: ComponentChildren;
}

/** A titled part of the panel. */
export function PanelSection({ title, figure, children }: PanelSectionProps) {
  return (
    <section class="panel-section" aria-label={title}>
      <h3>
        {title}
        {figure && <span>{figure}</span>}
      </h3>
      {children}
    </section>
  );
}
