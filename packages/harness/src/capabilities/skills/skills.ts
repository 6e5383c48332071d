import { type AgentState, type Capability, headOf, parseWith, pathSegments, type Workspace } from '@x/core';
import { z } from 'zod';
import { SKILLS, wholeOrPointer } from './loaded-skills.js';
import { type FoundSkills, findSkills, type Skill } from './skill.js';
import { loadSkillTool, readSkillFileTool } from './skill-tools.js';

export const skillsConfigSchema = z.strictObject({
  /** Folders of the workspace whose subfolders with a SKILL.md are skills; the first has precedence. */
  folders: z.array(z.string().min(1)).min(1).default(['skills']),
  /** Characters of names and descriptions in the system prompt; skills beyond are named without description. */
  maxListChars: z.int().min(0).default(8_000),
  /** Characters that the instructions of one skill may have. */
  maxSkillChars: z.int().min(1).default(60_000),
  /** Characters that one reading of a skill's file returns at most. */
  maxFileChars: z.int().min(200).default(20_000),
});

export type SkillsConfig = z.input<typeof skillsConfigSchema>;

/**
 * Skills: folders with a SKILL.md, as the ecosystem knows them. Their names and descriptions stand in the system prompt;
 * `load_skill` reads one, `read_skill_file` the files that belong to it. In every view a loaded skill is either whole, or
 * reduced to a pointer that says how to load it again: no compaction leaves half of it.
 *
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
  let left = maxChars;
  const lines = known.map(({ name, description }) => {
    const line = `- ${name}: ${description.replace(/\s+/g, ' ')}`;
    left -= line.length;
    return left >= 0 ? line : headOf(`- ${name}`, line.length);
  });
  return [
    '# Skills',
    'Instructions for kinds of work. load_skill reads one whose description fits:',
    ...lines,
  ].join('\n');
}
