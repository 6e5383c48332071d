import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { type BaseCheckpointSaver, JsonPlusSerializer, MemorySaver } from '@langchain/langgraph-checkpoint';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { textOf } from '@x/core';
import Database from 'better-sqlite3';
import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import { bytesReceived, bytesToDisk } from './sessions-bytes.js';
import { type Contender, someHead, someMessages, someTurn } from './sessions-conversation.js';

/** Each writes the whole conversation at every turn, or several times. */
const SAMPLES = 5;
let conversations = 0;

export function langGraphMemory(): Contender {
  const serializer = new CountingSerializer();
  return langGraph('LangGraph MemorySaver', new MemorySaver(serializer), serializer);
}

export function langGraphSqlite(): Contender & { close(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
  const database = new Database(join(directory, 'checkpoints.sqlite'));
  const serializer = new CountingSerializer();
  return {
    ...langGraph('LangGraph SqliteSaver', new SqliteSaver(database, serializer), serializer),
    close: () => {
      database.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
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
function langGraph(
  name: string,
  checkpointer: BaseCheckpointSaver,
  serializer: CountingSerializer,
): Contender {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('answer', () => ({ messages: toLangChain(someTurn()).slice(1) }))
    .addEdge('__start__', 'answer')
    .compile({ checkpointer });
  return {
    name,
    isOurs: false,
    samples: SAMPLES,
    open: async (messages) => {
      const config = { configurable: { thread_id: `t-${++conversations}` } };
      await graph.invoke({ messages: toLangChain(someMessages(messages - 1)) }, config);
      return {
        turn: async () => {
          await graph.invoke({ messages: toLangChain(someTurn()).slice(0, 1) }, config);
        },
        written: async () => serializer.bytes,
      };
    },
  };
}

function toLangChain(messages: ReturnType<typeof someMessages>): BaseMessage[] {
  return messages.map((message, index) =>
    index % 2 === 0
      ? new HumanMessage({ id: message.id, content: textOf(message) })
      : new AIMessage({ id: message.id, content: textOf(message) }),
  );
}

/** What one writes who does not think about it. */
export function naiveSet(client: Redis): Contender {
  return naive(
    'naive SET of the whole state',
    (id, state) => client.set(`naive:${id}`, state),
    () => bytesToDisk(client),
  );
}

export async function naiveReplace(pool: Pool): Promise<Contender> {
  await pool.query('CREATE TABLE naive (id VARCHAR(20) PRIMARY KEY, state LONGTEXT NOT NULL)');
  return naive(
    'naive REPLACE of the whole state',
    (id, state) => pool.execute('REPLACE INTO naive (id, state) VALUES (?, ?)', [id, state]),
    () => bytesReceived(pool),
  );
}

function naive(
  name: string,
  write: (id: string, state: string) => Promise<unknown>,
  written: () => Promise<number>,
): Contender {
  return {
    name,
    isOurs: false,
    samples: SAMPLES,
    open: async (count) => {
      const id = `n-${++conversations}`;
      const messages = someMessages(count);
      return {
        written,
        turn: async () => {
          messages.push(...someTurn());
          await write(id, JSON.stringify({ ...someHead, messages }));
        },
      };
    },
  };
}
