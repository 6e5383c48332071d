import { compileSchema } from '@x/core/messages';
import { parseFrontMatter } from '@x/harness/internal';
import { parse } from 'yaml';
import { agentFileSchema } from '../../src/agent/capabilities.js';

const names = { owner: 'agent.schema.json', path: 'schema', value: 'agent.yaml' };
const schema = compileSchema(agentFileSchema(), names);

/** Has an editor check an agent's file: whatever loads must be right in its eyes. */
export async function checkInEditor(file: string, text: string): Promise<void> {
  await schema.parse(file.endsWith('.md') ? parseFrontMatter(text, file).data : parse(text));
}
