import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestPostgres } from '@warder/storage/testing'

const found = await startTestPostgres()
after(async () => {
  if ('stop' in found) await found.stop()
})
const skip = 'missing' in found ? found.missing : false

/**
 * Declares a test that runs other test files on PostgreSQL, where it is installed: by themselves they run on SQLite.
 * @param files from the folder above, without `.test.ts`
 */
export function onPostgresql(name: string, files: readonly string[]): void {
  const paths = files.map((file) => fileURLToPath(new URL(`../${file}.test.ts`, import.meta.url)))
  // Checked without PostgreSQL, too: a file that was moved fails at once.
  for (const path of paths) assert.ok(existsSync(path), `there is no ${path}`)
  test(`${name}, on PostgreSQL`, { skip, timeout: 280_000 }, async () => {
    const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('NODE_TEST'))
    assert.ok('environment' in found)
    const env = { ...Object.fromEntries(inherited), ...found.environment, WARDER_TEST_DATABASE: 'postgresql' }
    const args = ['--test', '--test-concurrency=1', ...paths]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output = (output + text.toString()).slice(-20_000)
      })
    const code = await new Promise((resolve) => child.once('close', resolve))
    assert.equal(code, 0, output)
  })
}
