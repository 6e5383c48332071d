import { userMessage } from '@x/core';
import { atOnce } from '@x/core/internal';
import { describe, expect, it } from 'vitest';
import { isCall } from '../../src/record/entry.js';
import { excerptsOf } from '../../src/record/excerpts.js';
import { writeRecord } from '../../src/record/write-record.js';
import { meter, round } from '../build.js';

const inputs = { staying: [], standing: new Set<never>(), tools: [], meter };

describe('the names that nothing else in a record holds', () => {
  it('are no more than forty of one message', () => {
    const many = Array.from({ length: 4_000 }, (_, at) => `worker_${at}`).join(' ');
    const covered = [userMessage('Go'), ...round({ name: 'list', input: {}, output: many })].map(
      (message, index) => ({
        at: index + 1,
        excerpts: excerptsOf(message),
      }),
    );
    const record = atOnce(writeRecord({ ...inputs, earlier: [], covered, room: 6_000 }));
    const named = record.flatMap((entry) => (entry.kind === 'named' ? entry.names.length : []));
    expect(named).toEqual([40]);
  });

  it('are no halves of names that a call was cut to', () => {
    // The oldest calls are only counted: what their lines held is told by nothing else.
    const earlier = Array.from({ length: 80 }, (_, at) => ({
      kind: 'did' as const,
      at: at + 1,
      tool: 'edit_file',
      args: [{ text: `modul…es/m${at}/index.ts` }],
      end: 'done' as const,
    }));
    const record = atOnce(writeRecord({ ...inputs, earlier, covered: [], room: 400 }));
    expect(record.some(({ kind }) => kind === 'counted')).toBe(true);
    expect(record.filter(({ kind }) => kind === 'named')).toEqual([]);
  });

  it('are values of calls that were counted, and no keys of their input', () => {
    const earlier = Array.from({ length: 80 }, (_, at) => ({
      kind: 'looked' as const,
      at: at + 1,
      tool: 'search_files',
      args: [
        { key: 'maxResults', text: `limit_${at}` },
        { key: 'createdAfter', text: `report_${at}` },
      ],
      end: 'done' as const,
    }));
    const record = atOnce(writeRecord({ ...inputs, earlier, covered: [], room: 400 }));
    expect(record.filter(isCall).length).toBeLessThan(80);
    const named = record.flatMap((entry) => (entry.kind === 'named' ? entry.names : []));
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => !/^(?:limit|report)_\d+$/.test(name))).toEqual([]);
  });
});
