import { signal } from '@preact/signals';

const opened = signal<ReadonlySet<string>>(new Set());

/** Whether something that can be folded is open: a tool call, a compaction, a thought. */
export function isOpen(id: string): boolean {
  return opened.value.has(id);
}

export function toggleOpen(id: string): void {
  const next = new Set(opened.peek());
  if (!next.delete(id)) next.add(id);
  opened.value = next;
}

export function setOpen(id: string, open: boolean): void {
  if (opened.peek().has(id) !== open) toggleOpen(id);
}
