import { join } from 'node:path';
import ts from 'typescript';

/** What the compiler says about one of the files. */
export interface TypeError {
  readonly path: string;
  /** From 0. */
  readonly line: number;
  readonly message: string;
}

/**
 * Type-checks modules with the repository's own options, all in one program, and only them: what they import has its
 * own check.
 */
export function typeCheck(root: string, paths: readonly string[]): readonly TypeError[] {
  const configuration = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(configuration.config, ts.sys, root);
  const program = ts.createProgram(paths, { ...options, moduleDetection: ts.ModuleDetectionKind.Force });
  return paths.flatMap((path) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start, messageText }) => ({
        path,
        line: source?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0,
        message: ts.flattenDiagnosticMessageText(messageText, '\n  '),
      }),
    );
  });
}
