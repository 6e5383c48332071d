import { afterEach, expect, test, vi } from 'vitest';
import setup from '../../services/bubblewrap.js';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test.each(['true', ''])(
  'a machine without bubblewrap fails in a workflow, and warns elsewhere: %s',
  async (workflow) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.spyOn(console, 'log').mockImplementation(() => {});
    // Neither bwrap nor apt-get is found.
    vi.stubEnv('PATH', '');
    vi.stubEnv('GITHUB_ACTIONS', workflow);
    const done = setup();
    if (workflow) await expect(done).rejects.toThrow(/^The tests of sandboxes need bubblewrap/);
    else await done;
    expect(warn).toHaveBeenCalledTimes(workflow ? 0 : 1);
  },
);
