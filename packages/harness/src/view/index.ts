export { type RenderedLine, renderDiff, renderResult } from './lines.js';
export { oneLine, printable, shortNumber } from './printable.js';
export { type CallKind, type RenderedCall, renderCall } from './render-call.js';
export { isPlace, type KeptEvent, requestAt, type SeenRequest } from './request-at.js';
export { renderCompactionCost, type Savings, savingsInWords, savingsOf } from './savings.js';
