import { resolve } from 'node:path';
import type { JsonValue, Message } from '@x/core';
import { isObject } from '@x/core/internal';

/** The names of an equivalent tool in other agents, and our name for each of its input fields. */
interface Counterpart {
  readonly names: readonly string[];
  readonly input: Readonly<Record<string, string>>;
}

const path = { path: 'path', file_path: 'path', absolute_path: 'path', filePath: 'path', dir_path: 'path' };

const COUNTERPARTS: Readonly<Record<string, Counterpart>> = {
  read_file: {
    names: ['Read', 'read', 'read_file', 'view'],
    input: { ...path, offset: 'offset', limit: 'limit' },
  },
  write_file: {
    names: ['Write', 'write', 'write_file', 'create'],
    input: { ...path, content: 'content', file_text: 'content' },
  },
  edit_file: {
    names: ['Edit', 'edit', 'edit_file', 'replace', 'str_replace'],
    input: {
      ...path,
      ...{ old_string: 'oldText', oldString: 'oldText', old_str: 'oldText', oldText: 'oldText' },
      ...{ new_string: 'newText', newString: 'newText', new_str: 'newText', newText: 'newText' },
      ...{ replace_all: 'replaceAll', replaceAll: 'replaceAll' },
    },
  },
  execute: {
    names: ['Bash', 'bash', 'shell', 'exec_command', 'shell_command', 'run_shell_command', 'execute'],
    input: { command: 'command', cmd: 'command', timeout: 'timeoutMs' },
  },
  grep_files: {
    names: ['Grep', 'grep', 'search_file_content', 'grep_search', 'grep_files'],
    input: { ...path, pattern: 'pattern', glob: 'glob', include: 'glob' },
  },
  glob_files: { names: ['Glob', 'glob', 'glob_files'], input: { ...path, pattern: 'pattern' } },
  list_files: { names: ['LS', 'list', 'list_directory', 'list_files', 'ls'], input: path },
};

/** Input fields of other agents that our tools lack. They are dropped, because the call does the same without them. */
const DROPPED_FIELDS = ['description', 'workdir', 'run_in_background', 'justification', 'instruction'];

/**
 * Replaces tool calls of a recorded agent with calls of our equivalent tools, so that the model continues with the tools that it has. Paths
 * below the workspace become relative to it. A call with other input fields that our tools lack is not changed.
 */
export function withOurTools(messages: readonly Message[], workspace: string): readonly Message[] {
  const root = `${resolve(workspace)}/`;
  const names = new Map<string, string>();
  return messages.map((message) => ({
    ...message,
    content: message.content.map((block) => {
      if (block.type === 'tool_use') {
        const ours = counterpartOf(block.name, block.input, root);
        if (ours === undefined) return block;
        names.set(block.id, ours.name);
        return { ...block, ...ours };
      }
      const name = block.type === 'tool_result' ? names.get(block.toolUseId) : undefined;
      return name === undefined ? block : { ...block, toolName: name };
    }),
  })) as readonly Message[];
}

function counterpartOf(theirs: string, input: JsonValue, root: string) {
  const found = Object.entries(COUNTERPARTS).find(([, { names }]) => names.includes(theirs));
  if (found === undefined || !isObject(input)) return undefined;
  const [name, counterpart] = found;
  const fields = Object.entries(input).filter(([field]) => !DROPPED_FIELDS.includes(field));
  if (!fields.every(([field]) => Object.hasOwn(counterpart.input, field))) return undefined;
  const own = fields.map(([field, value]) => {
    const ours = counterpart.input[field] as string;
    if (ours === 'command' && Array.isArray(value)) return [ours, commandLine(value)];
    const isBelow = ours === 'path' && typeof value === 'string' && value.startsWith(root);
    return [ours, isBelow ? value.slice(root.length) : value];
  });
  return { name, input: Object.fromEntries(own) as JsonValue };
}

/** Joins a list of words to a command line. For a call such as `bash -c COMMAND`, returns only the command. */
function commandLine(words: readonly unknown[]): string {
  const isShell = /(?:^|\/)(?:ba|z)?sh$/.test(String(words[0])) && String(words[1]).startsWith('-');
  return isShell && words.length === 3 ? String(words[2]) : words.map(String).join(' ');
}
