// Exports for the packages of this repository. They are unsupported: any release may change or remove them.
export { hooksConfigSchema } from './capabilities/hooks.js';
export { parseModelReference } from './config/agent-file.js';
export { subagentFileProblems } from './config/subagents-in-files.js';
export { parseFrontMatter } from './lib/front-matter.js';
export { runProgram } from './lib/run-program.js';
