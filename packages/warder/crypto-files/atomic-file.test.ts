import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { toFileRefused } from '@warder/command-line/files'
import { writeAtomically } from './atomic-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-whole-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Message to a person when the output is `path`. */
async function told(path: string): Promise<string> {
  const error = await writeAtomically(path, { overwrite: false }, (file) => file.writeFile('x')).then(
    () => assert.fail('it was written'),
    (thrown: unknown) => thrown,
  )
  return String((toFileRefused(error, 'the input') as Error).message)
}

test('an output that cannot be written is told by its own name, and leaves nothing', async (t) => {
  if (process.platform === 'win32') return t.skip('a limit of the size of files is of POSIX')
  const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
  const program = `
const { writeAtomically } = await import(${module('./atomic-file.ts')})
const { toFileRefused } = await import(${JSON.stringify(import.meta.resolve('@warder/command-line/files'))})
const content = Buffer.alloc(1_000_000)
await writeAtomically('out.warder', { overwrite: false }, (file) => file.writeFile(content)).catch((error) =>
  process.stdout.write(toFileRefused(error, 'in').message))`
  // As a disk that is full: a write fails after some that did not.
  const script = 'ulimit -f 8; exec "$0" --input-type=module -e "$1"'
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }
  const ran = spawnSync('sh', ['-c', script, process.execPath, program], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  assert.match(
    ran.stdout,
    /^out\.warder cannot be written: a file in .* would be larger than .* allows; free disk space/,
    ran.stderr,
  )
  assert.deepEqual(readdirSync(folder), [])
})

test('a folder that is not there is told, and the input is not blamed for it', async () => {
  const missing = join(folder, 'none')
  assert.equal(await told(join(missing, 'out')), `the folder ${missing} does not exist`)
})
