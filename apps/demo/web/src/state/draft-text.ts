import { signal } from '@preact/signals';

/** What stands in the composer. */
export const draftText = signal('');
