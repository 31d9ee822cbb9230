import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Installation, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'

// A copy of a home that was in use did not start on the same machine: "in use by process …".

async function createKey(warder: Installation): Promise<void> {
  const kms = warder.client('kms')
  const headers = { authorization: `Bearer ${await warder.adminToken()}` }
  const answer = await kms.ask('/v1/crypto/keys', { json: { kty: 'oct', alg: 'HS256' }, headers })
  kms.close()
  assert.equal(answer.status, 200, answer.text)
}

test('a copy of a home that is in use starts beside it, and both homes stay locked', async (t) => {
  const original = temporaryHome()
  const parent = temporaryHome()
  const copy = join(parent, 'copy')
  const started: Installation[] = []
  t.after(async () => {
    for (const one of started) await one.stop()
    for (const folder of [original, parent]) rmSync(folder, { recursive: true })
  })
  const first = await startInstallation({ home: original })
  started.push(first)
  // Idle: nothing is written while it is copied.
  cpSync(original, copy, { recursive: true })
  const second = await startInstallation({ home: copy })
  started.push(second)
  for (const one of [first, second]) await createKey(one)
  for (const home of [original, copy]) {
    const { code, err } = await runWarder(['start', '--home', home])
    assert.equal(code, 1)
    assert.match(err, /is in use by process \d+/)
  }
})
