// Only for packages of this repository. Any release may change or remove these exports.
export { formats } from './import/import-conversation.js';
export { figuresOf } from './report/figures.js';
