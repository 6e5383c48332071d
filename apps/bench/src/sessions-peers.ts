import { join } from 'node:path';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { type BaseCheckpointSaver, JsonPlusSerializer, MemorySaver } from '@langchain/langgraph-checkpoint';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { textOf } from '@x/core';
import Database from 'better-sqlite3';
import { type Conversation, someMessages, someTurn } from './sessions-conversation.js';
import { withTemporaryFolder } from './temporary-folder.js';

/** Lends LangGraph's savers, by name: each begins a conversation that has so many messages. */
export function withLangGraph<T>(
  use: (savers: Readonly<Record<string, (messages: number) => Promise<Conversation>>>) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    const database = new Database(join(folder, 'checkpoints.sqlite'));
    const serializer = new CountingSerializer();
    try {
      return await use({
        'LangGraph MemorySaver': langGraph(new MemorySaver(serializer), serializer),
        'LangGraph SqliteSaver': langGraph(new SqliteSaver(database, serializer), serializer),
      });
    } finally {
      database.close();
    }
  });
}

/** What a saver is given to store. */
class CountingSerializer extends JsonPlusSerializer {
  bytes = 0;

  override async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    const [type, data] = await super.dumpsTyped(value);
    this.bytes += data.length;
    return [type, data];
  }
}

/** A graph of one node that answers at once: what a turn takes is what the saver takes. */
function langGraph(checkpointer: BaseCheckpointSaver, serializer: CountingSerializer) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('answer', () => ({ messages: toLangChain(someTurn()).slice(1) }))
    .addEdge('__start__', 'answer')
    .compile({ checkpointer });
  return async (messages: number): Promise<Conversation> => {
    const config = { configurable: { thread_id: `t-${messages}` } };
    await graph.invoke({ messages: toLangChain(someMessages(messages - 1)) }, config);
    return {
      turn: () => graph.invoke({ messages: toLangChain(someTurn()).slice(0, 1) }, config),
      written: async () => serializer.bytes,
    };
  };
}

function toLangChain(messages: ReturnType<typeof someMessages>): BaseMessage[] {
  return messages.map((message, index) =>
    index % 2 === 0
      ? new HumanMessage({ id: message.id, content: textOf(message) })
      : new AIMessage({ id: message.id, content: textOf(message) }),
  );
}
