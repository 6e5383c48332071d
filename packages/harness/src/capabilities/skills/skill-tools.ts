import { type AgentState, defineTool, headOf, readText, type Tool, type Workspace } from '@x/core';
import { z } from 'zod';
import { isInView, LOAD_SKILL, rememberLoading } from './loaded-skills.js';
import { readSkill, type Skill } from './skill.js';

export interface SkillLimits {
  readonly maxSkillChars: number;
  readonly maxFileChars: number;
}

/** The skills of the call in which a tool runs. */
type Skills = (state: AgentState, workspace: Workspace) => Promise<ReadonlyMap<string, Skill>>;

const MAX_LISTED_FILES = 100;

export function loadSkillTool(skillsOf: Skills, { maxSkillChars }: SkillLimits): Tool {
  return defineTool({
    name: LOAD_SKILL,
    description:
      'Reads the instructions of a skill, and lists its files. Do so before work that its description fits.',
    readOnly: true,
    input: z.strictObject({ name: z.string().min(1) }),
    async execute({ name }, { call, state, workspace }) {
      const { folder } = pick(await skillsOf(state, workspace), name);
      if (isInView(state, state.context, name)) return `The skill ${name} is in view already, further up.`;
      const { body } = await readSkill(workspace, folder);
      if (body.length > maxSkillChars) {
        throw new Error(
          `The instructions of ${name} have ${body.length} characters; ${maxSkillChars} can be loaded as a whole. ` +
            'Read them in parts with read_skill_file, path SKILL.md.',
        );
      }
      const files = await filesOf(workspace, folder);
      const listed = files.length === 0 ? '' : `\nFiles, for read_skill_file:\n${files.join('\n')}`;
      const text = `<skill name="${name}" folder="${folder}">\n${body}\n</skill>${listed}`;
      rememberLoading(state, call.id, name, text);
      return text;
    },
  });
}

export function readSkillFileTool(skillsOf: Skills, { maxFileChars }: SkillLimits): Tool {
  return defineTool({
    name: 'read_skill_file',
    description: `Reads a text file of a skill, ${maxFileChars} characters at most at a time.`,
    readOnly: true,
    input: z.strictObject({
      name: z.string().min(1).describe('The skill'),
      path: z.string().min(1).describe('Below its folder, as load_skill lists it'),
      offset: z.int().min(0).default(0).describe('Characters to skip'),
    }),
    async execute({ name, path, offset }, { state, workspace }) {
      const { folder } = pick(await skillsOf(state, workspace), name);
      // A path that leads out of the folder by `..` is refused by every workspace.
      const text = await readText(workspace, `${folder}/${path.replace(/^\/+/, '')}`);
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
  throw new Error(`There is no skill "${name}". There are: ${[...skills.keys()].join(', ') || 'none'}.`);
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
