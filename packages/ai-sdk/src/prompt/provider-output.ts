import type { JsonObject, JsonValue, ToolResultBlock } from '@x/core';

/** The answer of a tool as its provider wants it: `key` must be there; a text that is no such object is put into one. */
interface ProviderForm {
  readonly key: string;
  of(text: string, isError: boolean): JsonObject;
}

/**
 * Tools that a provider defines and the application runs, by the id under which `providerTools` names them. Their answers
 * are items of their own, and the provider's package writes these of JSON alone.
 */
const FORMS: { readonly [id: string]: ProviderForm } = {
  'openai.shell': {
    key: 'output',
    of: (text, isError) => ({
      output: [
        {
          stdout: isError ? '' : text,
          stderr: isError ? text : '',
          outcome: { type: 'exit', exitCode: isError ? 1 : 0 },
        },
      ],
    }),
  },
  'openai.local_shell': { key: 'output', of: (output) => ({ output }) },
  'openai.apply_patch': {
    key: 'status',
    of: (output, isError) => ({ status: isError ? 'failed' : 'completed', output }),
  },
  'openai.tool_search': { key: 'tools', of: () => ({ tools: [] }) },
};

/** The answer in the provider's own form; `undefined` for every other tool, and for an answer that holds files. */
export function providerOutput(
  { output, isError }: ToolResultBlock,
  toolId: string | undefined,
): { readonly type: 'json'; readonly value: JsonValue } | undefined {
  const form = toolId === undefined ? undefined : FORMS[toolId];
  const texts = output.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (form === undefined || texts.length < output.length) return undefined;
  const text = texts.join('\n');
  return { type: 'json', value: objectIn(text, form.key) ?? form.of(text, isError) };
}

function objectIn(text: string, key: string): JsonObject | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(text) as JsonObject;
    return key in value ? value : undefined;
  } catch {
    return undefined;
  }
}
