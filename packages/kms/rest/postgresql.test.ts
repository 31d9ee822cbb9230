import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestPostgres } from '@warder/storage/testing'

// Every test of a database runs on SQLite by itself; here the same files run on PostgreSQL, all those of a group in one
// process, which loads the service once.

const postgres = await startTestPostgres()
const skip = 'missing' in postgres ? postgres.missing : false
after(async () => {
  if ('stop' in postgres) await postgres.stop()
})

const folder = fileURLToPath(new URL('../..', import.meta.url))
const filesIn = (name: string): readonly string[] =>
  globSync(`${name}/*.test.ts`, { cwd: folder })
    .filter((file) => basename(file) !== 'postgresql.test.ts')
    // Those run on both engines by themselves.
    .filter((file) => !readFileSync(join(folder, file), 'utf8').includes('bothEngines'))
    .sort()

const all = ['keys/access', 'identity', 'kms/rest'].flatMap(filesIn)
const half = Math.ceil(all.length / 2)
const groups = [all.slice(0, half), all.slice(half)]

for (const files of groups) {
  test(`on PostgreSQL: ${files.join(', ')}`, { skip, timeout: 280_000 }, async () => {
    assert.ok('environment' in postgres && files.length > 0)
    const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('NODE_TEST'))
    const env = {
      ...Object.fromEntries(inherited),
      ...postgres.environment,
      WARDER_TEST_DATABASE: 'postgresql',
    }
    const args = ['--test', '--test-isolation=none', '--test-reporter=tap', ...files]
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output = (output + text.toString()).slice(-40_000)
      })
    const code = await new Promise((resolve) => child.once('close', resolve))
    assert.equal(code, 0, output)
    assert.match(output, /^# pass [1-9]/m)
  })
}
