import { createHash } from 'node:crypto';
import {
  type AgentState,
  type ContentBlock,
  type JsonObject,
  type Message,
  type ToolResultBlock,
  textOf,
  toolResultsOf,
  userMessage,
} from '@x/core';

export const SKILLS = 'skills';
export const LOAD_SKILL = 'load_skill';

/** Record of one call that loaded a skill. */
interface Loading {
  readonly name: string;
  /** Hash of the whole text. */
  readonly hash: string;
  /** True if the model saw the whole text. Absent until that was checked. */
  readonly whole?: boolean;
}

/** Caches by block whether it contains a whole skill. Blocks never change. */
const compared = new WeakMap<ToolResultBlock, boolean>();

/** Records that a call loaded a skill, so that its whole text can be distinguished from a part. */
export function rememberLoading(state: AgentState, toolUseId: string, name: string, text: string): void {
  store(state, { ...loadingsIn(state), [toolUseId]: { name, hash: hashOf(text) } });
}

/** Tests if these messages contain the whole text of a skill. */
export function isInView(state: AgentState, messages: readonly Message[], name: string): boolean {
  const loadings = loadingsIn(state);
  return messages.flatMap(toolResultsOf).some((block) => {
    const loading = loadings[block.toolUseId];
    return loading?.name === name && isWhole(block, loading);
  });
}

/**
 * Replaces each partial skill with a pointer, because a fragment that a reduction left is no longer a usable
 * instruction. Appends a message that names loaded skills that are missing. Returns the same list if nothing changes.
 */
export function wholeOrPointer(state: AgentState, messages: readonly Message[]): readonly Message[] {
  const loadings = loadingsIn(state);
  if (Object.keys(loadings).length === 0) return messages;
  const absent = new Set(Object.values(loadings).map(({ name }) => name));
  const inView = (block: ContentBlock): ContentBlock => {
    const loading = block.type === 'tool_result' ? loadings[block.toolUseId] : undefined;
    if (block.type !== 'tool_result' || loading === undefined) return block;
    const whole = isWhole(block, loading);
    if (loading.whole === undefined)
      store(state, { ...loadingsIn(state), [block.toolUseId]: { ...loading, whole } });
    // Replace only a skill that was whole before. One that never was, because its result was saved to a file, already
    // names that file.
    if (!whole && loading.whole) return { ...block, output: [{ type: 'text', text: pointer(loading.name) }] };
    absent.delete(loading.name);
    return block;
  };
  const view = messages.map((message) => {
    if (message.role !== 'tool') return message;
    const content = message.content.map(inView);
    return content.every((block, index) => block === message.content[index])
      ? message
      : { ...message, content };
  });
  if (absent.size > 0)
    return [...view, userMessage(reminder([...absent]), { id: 'skills-reminder', kind: 'synthetic' })];
  return view.some((message, index) => message !== messages[index]) ? view : messages;
}

function pointer(name: string): string {
  return `[The skill ${name} was loaded here and is no longer in view. ${LOAD_SKILL} with name "${name}" reads it again.]`;
}

function reminder(names: readonly string[]): string {
  return (
    `<skills>\nLoaded earlier and no longer in view: ${names.join(', ')}. If the work still needs one, read it again with ` +
    `${LOAD_SKILL} before you go on; do not work from memory of it.\n</skills>`
  );
}

function isWhole(block: ToolResultBlock, { hash }: Loading): boolean {
  const known = compared.get(block);
  if (known !== undefined) return known;
  const whole = hashOf(textOf([block])) === hash;
  compared.set(block, whole);
  return whole;
}

/** Reads the stored state. It needs no validation, because only this module writes it. */
function loadingsIn(state: AgentState): Readonly<Record<string, Loading>> {
  return (state.extensions[SKILLS]?.loaded ?? {}) as unknown as Readonly<Record<string, Loading>>;
}

function store(state: AgentState, loaded: Readonly<Record<string, Loading>>): void {
  state.extensions[SKILLS] = { loaded: loaded as unknown as JsonObject };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
