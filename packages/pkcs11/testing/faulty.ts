import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missingTools } from './softhsm.ts'

/** The faulty library exports one function. */
const loadLibffi = "new (require('node:ffi').DynamicLibrary)('libffi.so.8')"

/** Value for `skip` of a test with the faulty library: false when it can be built and called, else the reason. */
export const missingFaulty: string | false =
  spawnSync(process.execPath, ['--no-warnings', '-e', loadLibffi]).status === 0
    ? missingTools('gcc')
    : 'libffi is not installed (Debian package libffi8)'

/** Builds the library of faulty-token.c. @returns its path */
export function buildFaulty(folder: string): string {
  const library = join(folder, 'faulty.so')
  const source = fileURLToPath(new URL('./faulty-token.c', import.meta.url))
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, source])
  return library
}
