import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Retries while another apt-get holds the lock on the package lists. For the lock of dpkg, apt-get itself waits. */
const listLock = { tries: 60, everyMilliseconds: 2000 };

let updated: Promise<void> | undefined;

/**
 * Installs Debian packages without questions, and without recommended packages.
 *
 * @throws {Error} if this is not Debian (or a derivative), the user is not root, or apt-get fails.
 */
export async function installDebianPackages(packages: readonly string[]): Promise<void> {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) {
    throw new Error('only root on Debian or a derivative can install packages');
  }
  console.log(`[services] Installing ${packages.join(' ')} with apt-get (up to a minute) …`);
  updated ??= updateLists();
  await updated;
  await aptGet('install', '--yes', '--no-install-recommends', ...packages);
}

async function updateLists(): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await aptGet('update');
    } catch (error) {
      const locked = String(error).includes('Could not get lock');
      if (!locked || tries === listLock.tries) throw error;
      await sleep(listLock.everyMilliseconds);
    }
  }
}

/** Runs apt-get. If it fails, the error contains its standard error. */
async function aptGet(...args: string[]): Promise<void> {
  await promisify(execFile)('apt-get', ['-o', 'DPkg::Lock::Timeout=120', '--quiet', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: Number.POSITIVE_INFINITY,
  });
}
