import type { BaseMessage } from '@langchain/core/messages';

/** The key in a summary's response metadata for the ids of all messages that it and the summaries before it replaced. */
const REPLACED = '@x/langchain/replaced';

/**
 * Leaves out the messages that a summary has replaced. If an agent is a subgraph, the graph around it brings them back, because removals do
 * not leave a subgraph.
 *
 * @returns the same array if there are none.
 */
export function withoutReplaced(messages: BaseMessage[]): BaseMessage[] {
  const replaced = replacedIn(messages);
  if (replaced.size === 0) return messages;
  return messages.filter((message) => isSummary(message) || !replaced.has(message.id));
}

/** Notes in a new summary which messages it replaces. */
export function noteReplaced(reduced: readonly BaseMessage[], before: readonly BaseMessage[]): void {
  const staying = new Set(reduced.map(({ id }) => id));
  const ids = before.map(({ id }) => id).filter((id) => !staying.has(id));
  const summary = reduced.find((message) => isSummary(message) && !before.includes(message));
  if (summary !== undefined) summary.response_metadata[REPLACED] = [...replacedIn(before), ...ids];
}

function replacedIn(messages: readonly BaseMessage[]): ReadonlySet<string | undefined> {
  return new Set(
    messages.flatMap(
      ({ response_metadata }) => (response_metadata?.[REPLACED] as string[] | undefined) ?? [],
    ),
  );
}

function isSummary({ additional_kwargs }: BaseMessage): boolean {
  return additional_kwargs?.lc_source === 'summarization';
}
