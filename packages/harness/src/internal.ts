// What only the packages of this repository use. It is unsupported: any release may change or remove it.
export { hooksConfigSchema } from './capabilities/hooks.js';
export { parseModelReference } from './config/agent-file.js';
export { subagentFileProblems } from './config/subagents-in-files.js';
export { parseFrontMatter } from './lib/front-matter.js';
