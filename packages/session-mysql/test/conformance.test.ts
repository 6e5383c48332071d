import { sessionStoreSuite } from '@x/testkit';
import { MysqlSession } from '../src/index.js';
import { testPool, testStore } from './support/test-store.js';

let table: string;

sessionStoreSuite({
  name: 'MysqlSession',
  create: async () => {
    const created = await testStore();
    table = created.table;
    return created.store;
  },
  reopen: () => new MysqlSession({ pool: testPool(), table }),
});
