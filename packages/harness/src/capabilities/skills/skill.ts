import { errorText, parseWith, readText, type Workspace } from '@x/core';
import { z } from 'zod';
import { parseFrontMatter } from '../../lib/front-matter.js';

/** What the ecosystem says of itself beside these is no concern of the agent. */
const frontMatterSchema = z.looseObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be letters, digits, - and _, 64 at most'),
  description: z.string().trim().min(1).max(2_000),
});

/** A folder with a SKILL.md: instructions for one kind of work, and files that they refer to. */
export interface Skill {
  readonly name: string;
  /** When to use it. */
  readonly description: string;
  /** In the workspace. */
  readonly folder: string;
}

export interface FoundSkills {
  /** By name, sorted. */
  readonly skills: ReadonlyMap<string, Skill>;
  readonly problems: readonly string[];
}

const FILE = 'SKILL.md';

/** The skills in folders of a workspace; of two with one name the first folder's counts. */
export async function findSkills(workspace: Workspace, folders: readonly string[]): Promise<FoundSkills> {
  const found = new Map<string, Skill>();
  const problems: string[] = [];
  for (const root of folders) {
    for await (const { path: folder, type } of workspace.list(root)) {
      if (type !== 'directory' || (await workspace.stat(`${folder}/${FILE}`)) === undefined) continue;
      try {
        const { name, description } = (await readSkill(workspace, folder)).about;
        if (!found.has(name)) found.set(name, { name, description, folder });
      } catch (error) {
        problems.push(errorText(error));
      }
    }
  }
  const byName = [...found].sort(([left], [right]) => (left < right ? -1 : 1));
  return { skills: new Map(byName), problems };
}

/** @throws {InvalidInputError} naming the file and what is wrong with its front matter. */
export async function readSkill(
  workspace: Workspace,
  folder: string,
): Promise<{ readonly about: Pick<Skill, 'name' | 'description'>; readonly body: string }> {
  const path = `${folder}/${FILE}`;
  const { data, body } = parseFrontMatter(await readText(workspace, path), path);
  return { about: parseWith(frontMatterSchema, data, path), body };
}
