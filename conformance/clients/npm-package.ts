import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MissingClient } from './client-run.ts'
import { runProgram } from './run-program.ts'

/** A folder with `node_modules`, which goes when it is disposed of. */
export interface InstalledPackages extends Disposable {
  readonly folder: string
}

/**
 * Installs the packages in the `package-lock.json` of a folder, by its hashes, into a temporary folder. For clients
 * whose licence does not let them be a dependency. No script of theirs runs.
 */
export async function installPackages(source: string): Promise<InstalledPackages | MissingClient> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-npm-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(source, name), join(folder, name))
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=0']
  const { code } = await runProgram('npm', ['ci', '--prefix', folder, ...options], {})
  if (code === 0) return { folder, [Symbol.dispose]: remove }
  remove()
  return { missing: `npm cannot install what ${source} names: it takes the registry or npm's cache` }
}
