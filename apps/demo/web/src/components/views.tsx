import { FileView } from './file-view.js';
import { InspectView } from './inspect-view.js';
import { MemoryView } from './memory-view.js';
import { ReplayView } from './replay-view.js';

/** The views that take the place of the conversation, by their name in the address. */
export const views = { inspect: InspectView, memory: MemoryView, replay: ReplayView, file: FileView };
