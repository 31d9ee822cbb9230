import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MissingClient } from './client-run.ts'
import { canRun, runProgram } from './run-program.ts'

const requirements = fileURLToPath(new URL('./hvac-requirements.txt', import.meta.url))
const cache = fileURLToPath(new URL('../../node_modules/.cache/python-clients', import.meta.url))
const maxMs = 120_000

/** Environment in which Python finds a package. */
export interface PythonPath {
  readonly env: Readonly<Record<string, string>>
}

/**
 * hvac, the Python client of Vault: of the folder that `WARDER_HVAC` names, of this Python, or installed by pip once, by
 * the hashes of `hvac-requirements.txt`.
 */
export async function findHvac(): Promise<PythonPath | MissingClient> {
  const { WARDER_HVAC: named } = process.env
  const given = named === undefined ? {} : { PYTHONPATH: named }
  if (canRun('python3', ['-c', 'import hvac'], given)) return { env: given }
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex')
  const folder = join(cache, `hvac-${digest.slice(0, 16)}`)
  if (existsSync(folder) || (await install(folder))) return { env: { PYTHONPATH: folder } }
  return {
    missing:
      'hvac is not installed: it requires Python 3, and pip with the package index; or set WARDER_HVAC',
  }
}

/** Whole or not at all, also when several tests want it at once. */
async function install(folder: string): Promise<boolean> {
  mkdirSync(cache, { recursive: true })
  const draft = mkdtempSync(join(cache, 'draft-'))
  try {
    const options = [
      '--quiet',
      '--disable-pip-version-check',
      '--retries',
      '0',
      '--no-compile',
      '--target',
      draft,
    ]
    const words = ['-m', 'pip', 'install', ...options, '--require-hashes', '-r', requirements]
    const { code } = await runProgram('python3', words, { timeoutMs: maxMs })
    if (code === 0 && !existsSync(folder)) renameSync(draft, folder)
  } catch {
    // No Python; or another test has put it there in this moment.
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return existsSync(folder)
}
