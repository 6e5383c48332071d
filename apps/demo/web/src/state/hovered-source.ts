import { signal } from '@preact/signals';
import type { SourceKey } from '../lib/sources.js';

/** The source under the pointer or the focus, wherever it is shown: bar, legend and timeline light it up together. */
export const hoveredSource = signal<SourceKey | undefined>(undefined);
