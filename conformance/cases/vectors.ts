import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readCases, type TestCase } from './test-case.ts'

/** Variable that names the folder of test cases, one folder for each version in it (`v1.4`, `v2.1`) or none. */
export const vectorsVariable = 'WARDER_KMIP_VECTORS'

/** The folder of the public test cases: the variable's, else `shared/vectors/kmip` beside the checkout. */
export function vectorsFolder(env: Readonly<Record<string, string | undefined>>): string {
  const named = env[vectorsVariable]
  if (named !== undefined && named !== '') return named
  const beside = fileURLToPath(new URL('../../../shared/vectors', import.meta.url))
  return join(env.WARDER_VECTORS ?? beside, 'kmip')
}

/** All cases of a folder; none when it is not there. */
export function casesIn(folder: string): readonly TestCase[] {
  try {
    readdirSync(folder)
  } catch {
    return []
  }
  return readCases(folder)
}

/** Whether the case is one of KMIP 3.0, a draft, which a server must be told to serve. */
export function isDraftCase({ version }: TestCase): boolean {
  return version.startsWith('3.')
}

/** The public test cases, of KMIP 3.0 or of the other versions. */
export function listCases(
  env: Readonly<Record<string, string | undefined>>,
  { draft }: { readonly draft: boolean },
): readonly TestCase[] {
  return casesIn(vectorsFolder(env)).filter((testCase) => isDraftCase(testCase) === draft)
}
