import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestPostgres } from '@warder/foundation/sql/testing'

// Every test of a database runs on SQLite by itself; here the same files run on PostgreSQL.

const postgres = await startTestPostgres()
const skip = 'missing' in postgres ? postgres.missing : false
after(async () => {
  if ('stop' in postgres) await postgres.stop()
})

const files = ['access', 'crypto', 'listing', 'secrets', 'states']

for (const name of files) {
  test(`${name}.test.ts on PostgreSQL`, { skip, timeout: 120_000 }, async () => {
    const file = fileURLToPath(new URL(`./${name}.test.ts`, import.meta.url))
    const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('NODE_TEST'))
    const env = { ...Object.fromEntries(inherited), WARDER_TEST_DATABASE: 'postgresql' }
    const child = spawn(process.execPath, ['--test', file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output = (output + text.toString()).slice(-20_000)
      })
    const code = await new Promise((resolve) => child.once('close', resolve))
    assert.equal(code, 0, output)
  })
}
