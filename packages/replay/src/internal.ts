// For the packages of this repository only. Unsupported: any release may change or remove these exports.
export { formats } from './import/import-conversation.js';
export { figuresOf } from './report/figures.js';
