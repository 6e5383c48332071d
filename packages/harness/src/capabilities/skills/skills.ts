import { type AgentState, type Capability, defineTool, readText, type Tool, type Workspace } from '@x/core';
import { errorText, escapeTags, headOf, parseWith } from '@x/core/internal';
import { pathSegments } from '@x/core/store';
import * as z from 'zod';
import { parseFrontMatter } from '../../lib/front-matter.js';
import { legibleEntries } from '../../lib/legible-entries.js';
import { promptList } from '../../lib/prompt-list.js';
import { isInView, LOAD_SKILL, rememberLoading, SKILLS, wholeOrPointer } from './loaded-skills.js';

export const skillsConfigSchema = z.strictObject({
  /** Folders of the workspace whose subfolders with a SKILL.md are skills. Earlier folders take precedence. */
  folders: z.array(z.string().min(1)).min(1).default(['skills']),
  /**
   * Maximum number of characters of the skill list in the system prompt. Skills beyond it appear without a description.
   */
  maxListChars: z.int().min(0).default(8_000),
  /** Maximum number of characters of one skill's instructions. */
  maxSkillChars: z.int().min(1).default(60_000),
  /** Maximum number of characters that one read of a skill's file returns. */
  maxFileChars: z.int().min(200).default(20_000),
});

export type SkillsConfig = z.input<typeof skillsConfigSchema>;

/**
 * Adds skills: folders with a SKILL.md. The system prompt lists their names and descriptions; `load_skill` reads a
 * skill and `read_skill_file` reads its files. In every model request, a loaded skill is either complete or replaced by
 * a pointer that says how to load it again. Compaction never leaves a part of it.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(skills({ folders: ['skills'] }));
 * ```
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function skills(config: SkillsConfig = {}): Capability {
  const settings = parseWith(skillsConfigSchema, config, 'skills configuration');
  for (const folder of settings.folders) pathSegments(folder);
  const calls = new WeakMap<AgentState, Promise<FoundSkills>>();
  const found = (state: AgentState, workspace: Workspace) => {
    const known = calls.get(state) ?? findSkills(workspace, settings.folders);
    calls.set(state, known);
    return known;
  };
  const skillsOf = async (state: AgentState, workspace: Workspace) => (await found(state, workspace)).skills;
  return {
    name: SKILLS,
    tools: [loadSkillTool(skillsOf, settings), readSkillFileTool(skillsOf, settings)],
    async aroundCall(scope, next) {
      const { problems } = await found(scope.state, scope.workspace);
      for (const message of problems) scope.emit({ type: 'warning', source: SKILLS, message });
      await next();
    },
    async system({ state, workspace }) {
      const known = await skillsOf(state, workspace);
      return known.size === 0 ? undefined : listOf([...known.values()], settings.maxListChars);
    },
    aroundModel: (request, { state }, next) => {
      const messages = wholeOrPointer(state, request.messages);
      return next(messages === request.messages ? request : { ...request, messages });
    },
  };
}

function listOf(known: readonly Skill[], maxChars: number): string {
  return [
    '# Skills',
    'Instructions for kinds of work. load_skill reads one whose description fits:',
    ...promptList(known, maxChars),
  ].join('\n');
}

interface SkillLimits {
  readonly maxSkillChars: number;
  readonly maxFileChars: number;
}

/** Returns the skills of the call in which a tool runs. */
type Skills = (state: AgentState, workspace: Workspace) => Promise<ReadonlyMap<string, Skill>>;

const MAX_LISTED_FILES = 100;
/**
 * Maximum size in bytes of a SKILL.md, which every call reads, and of other files, which are read whole for each part.
 */
const MAX_BYTES = 1_000_000;
const MAX_FILE_BYTES = 10 * MAX_BYTES;

function loadSkillTool(skillsOf: Skills, { maxSkillChars }: SkillLimits): Tool {
  return defineTool({
    name: LOAD_SKILL,
    description:
      'Reads the instructions of a skill, and lists its files. Use it before work that matches the description of a skill.',
    readOnly: true,
    input: z.strictObject({ name: z.string().min(1) }),
    async execute({ name }, { call, state, workspace }) {
      const { folder } = pick(await skillsOf(state, workspace), name);
      if (isInView(state, state.context, name)) return `The skill ${name} is already in view above.`;
      const { body } = await readSkill(workspace, folder);
      if (body.length > maxSkillChars) {
        throw new Error(
          `The instructions of ${name} have ${body.length} characters; ${maxSkillChars} can be loaded as a whole. ` +
            'Read them in parts with read_skill_file, path SKILL.md.',
        );
      }
      const files = await filesOf(workspace, folder);
      const listed = files.length === 0 ? '' : `\nFiles, for read_skill_file:\n${files.join('\n')}`;
      const text = `<skill name="${name}" folder="${folder}">\n${escapeTags(body, 'skill')}\n</skill>${listed}`;
      rememberLoading(state, call.id, name, text);
      return text;
    },
  });
}

function readSkillFileTool(skillsOf: Skills, { maxFileChars }: SkillLimits): Tool {
  return defineTool({
    name: 'read_skill_file',
    description: `Reads a text file of a skill, at most ${maxFileChars} characters at a time.`,
    readOnly: true,
    input: z.strictObject({
      name: z.string().min(1).describe('The name of the skill'),
      path: z.string().min(1).describe('The path in the folder of the skill, as load_skill lists it'),
      offset: z.int().min(0).default(0).describe('Characters to skip'),
    }),
    async execute({ name, path, offset }, { state, workspace }) {
      const { folder } = pick(await skillsOf(state, workspace), name);
      // Every workspace rejects a path that leaves the folder through `..`.
      const text = await readText(workspace, `${folder}/${path.replace(/^\/+/, '')}`, MAX_FILE_BYTES);
      const part = headOf(text.slice(offset), maxFileChars);
      const end = offset + part.length;
      const more = end < text.length ? `; go on with offset ${end}` : '';
      return `[${path} of ${name}, characters ${offset}–${end} of ${text.length}${more}]\n${part}`;
    },
  });
}

function pick(skills: ReadonlyMap<string, Skill>, name: string): Skill {
  const skill = skills.get(name);
  if (skill !== undefined) return skill;
  throw new Error(`There is no skill "${name}". Available: ${[...skills.keys()].join(', ') || 'none'}.`);
}

async function filesOf(workspace: Workspace, folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  for await (const { path, type, size } of workspace.list(folder, { recursive: true })) {
    const name = path.slice(folder.length + 1);
    if (type !== 'file' || name === 'SKILL.md') continue;
    if (files.length === MAX_LISTED_FILES) return [...files, '- …'];
    files.push(`- ${name} (${size} bytes)`);
  }
  return files;
}

/** The fields of a SKILL.md that the agent reads. All other fields are ignored. */
const frontMatterSchema = z.looseObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be letters, digits, - and _, 64 at most'),
  description: z.string().trim().min(1).max(2_000),
});

/** A folder with a SKILL.md: instructions for one kind of work, and the files that they refer to. */
interface Skill {
  readonly name: string;
  /** When to use it. */
  readonly description: string;
  /** Path in the workspace. */
  readonly folder: string;
}

interface FoundSkills {
  /** By name, sorted. */
  readonly skills: ReadonlyMap<string, Skill>;
  readonly problems: readonly string[];
}

const FILE = 'SKILL.md';

/** Maximum number of folders that each call searches for a SKILL.md. */
const MAX_SKILLS = 200;

/** Finds the skills in folders of a workspace. If several skills have the same name, the first wins. */
async function findSkills(workspace: Workspace, folders: readonly string[]): Promise<FoundSkills> {
  const found = new Map<string, Skill>();
  const problems: string[] = [];
  let read = 0;
  for (const root of folders) {
    for await (const { path: folder, type } of legibleEntries(workspace, root, problems)) {
      if (type !== 'directory') continue;
      if (++read > MAX_SKILLS) {
        problems.push(`${folder}: skipped with all later folders: at most ${MAX_SKILLS} folders are read`);
        break;
      }
      try {
        if ((await workspace.stat(`${folder}/${FILE}`)) === undefined) continue;
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

/** @throws {InvalidInputError} naming the file and every problem in its front matter. */
async function readSkill(
  workspace: Workspace,
  folder: string,
): Promise<{ readonly about: Pick<Skill, 'name' | 'description'>; readonly body: string }> {
  const path = `${folder}/${FILE}`;
  const { data, body } = parseFrontMatter(await readText(workspace, path, MAX_BYTES), path);
  return { about: parseWith(frontMatterSchema, data, path), body };
}
